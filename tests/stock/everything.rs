//! All of them at once, outside and inside the phase layers: it compiles, runs, can be erased and cloned.

use mcp_interceptors::{BoxError, ServiceBuilderExt, check, message::Message, reply::Reply};
use tower::{ServiceBuilder, ServiceExt, retry::Policy, util::BoxCloneSyncService};

use crate::support::{Counted, SECOND, answer, call, chain, passes, slow};

#[derive(Clone)]
struct Never;

impl Policy<Message, Reply, BoxError> for Never {
    type Future = std::future::Ready<()>;

    fn retry(&mut self, _: &mut Message, _: &mut Result<Reply, BoxError>) -> Option<Self::Future> {
        None
    }

    fn clone_request(&mut self, _: &Message) -> Option<Message> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn all_outside_and_inside_of_three_phase_layers() {
    let judged = Counted::default();
    let chain = chain(passes(&judged));
    for reports in [false, true] {
        let service = ServiceBuilder::new()
            .buffer(8)
            .load_shed()
            .concurrency_limit(8)
            .timeout(60 * SECOND)
            .retry(Never)
            .rescue()
            .correlate()
            .mutate(&chain)
            .validate(&chain)
            .sink(&chain)
            .buffer(8)
            .load_shed()
            .concurrency_limit(8)
            .timeout(60 * SECOND)
            .retry(Never)
            .service(slow(SECOND, reports));
        let erased = BoxCloneSyncService::new(check(service));
        for id in 0..3 {
            let reply = check(erased.clone()).oneshot(call(id)).await.unwrap();
            assert_eq!(answer(reply).await["id"], id);
        }
    }
    assert_eq!(judged.get(), 6);
}
