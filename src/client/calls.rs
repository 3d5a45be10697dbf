//! The two methods of SEP-2624.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::{InterceptorServer, ServerError, session::Failed};
use crate::{
    interceptor::{InvokeParams, ListInterceptorsParams, ListInterceptorsResult, WireResult},
    message::Message,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const LIST: &str = "interceptors/list";
const INVOKE: &str = "interceptor/invoke";
/// How many interceptors one server may list.
const MAX_INTERCEPTORS: usize = 10_000;

impl InterceptorServer {
    /// One page of the server's interceptors: those that hook `event`, or all.
    ///
    /// # Errors
    ///
    /// When the server cannot be called, answers with an error, or with what is no list. Single entries that
    /// cannot be read are in the result's `rejected`.
    pub async fn list(
        &self,
        event: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<ListInterceptorsResult, ServerError> {
        self.page(event, cursor, self.inner().settings.call_timeout).await
    }

    /// All of the server's interceptors that hook `event`, or all: every page, within the time of one call.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list); and when the pages do not end: there are too many, or a cursor comes again.
    pub async fn list_all(&self, event: Option<&str>) -> Result<ListInterceptorsResult, ServerError> {
        let settings = &self.inner().settings;
        let (within, max_pages) = (settings.call_timeout, settings.max_pages);
        let until = Instant::now() + within;
        let malformed = |text: &str| Err(ServerError::malformed(self.shared_name(), text));
        let mut all = ListInterceptorsResult::default();
        let mut seen = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..max_pages {
            let left = until.saturating_duration_since(Instant::now());
            let mut page = self.page(event, cursor.as_deref(), left).await?;
            let before = all.interceptors.len() + all.rejected.len();
            for rejected in &mut page.rejected {
                rejected.index += before;
            }
            all.interceptors.append(&mut page.interceptors);
            all.rejected.append(&mut page.rejected);
            if all.interceptors.len() + all.rejected.len() > MAX_INTERCEPTORS {
                return malformed("its list is too long");
            }
            let Some(next) = page.next_cursor else {
                return Ok(all);
            };
            if !seen.insert(next.clone()) {
                return malformed("its list does not end: a cursor comes again");
            }
            cursor = Some(next);
        }
        malformed("its list has too many pages")
    }

    async fn page(
        &self,
        event: Option<&str>,
        cursor: Option<&str>,
        within: Duration,
    ) -> Result<ListInterceptorsResult, ServerError> {
        let mut params = ListInterceptorsParams::new();
        params.event = event.map(Into::into);
        params.cursor = cursor.map(Into::into);
        let answer = self.request(LIST, || Ok(&params), within).await?;
        answer
            .payload()
            .parse()
            .map_err(|error| ServerError::malformed(self.shared_name(), error))
    }

    /// Asks one interceptor. It may take as long as `params` say, else as long as a call may; connecting counts.
    ///
    /// # Errors
    ///
    /// When the server cannot be called, answers with an error, or with a result that cannot be used: one in
    /// another interceptor's name, say.
    pub async fn invoke(&self, params: InvokeParams) -> Result<WireResult, ServerError> {
        let within = params.timeout.unwrap_or(self.inner().settings.call_timeout);
        self.invoke_within(params, within, Duration::ZERO).await
    }

    /// The same; the server is told the time without the grace. Whoever keeps the time himself gives some, so that
    /// it is he who finds it used up.
    pub(super) async fn invoke_within(
        &self,
        mut params: InvokeParams,
        told: Duration,
        grace: Duration,
    ) -> Result<WireResult, ServerError> {
        // So that the clock can reach it.
        let told = told.min(DAY);
        let until = Instant::now() + told;
        let (name, phase) = (params.name.clone(), params.phase);
        let write = || {
            // What is left when the connection is there.
            params.timeout = Some(until.saturating_duration_since(Instant::now()));
            Ok(params.clone())
        };
        let answer = self.request(INVOKE, write, told + grace).await?;
        WireResult::from_answer(answer.payload().as_json(), &name, phase)
            .map_err(|error| ServerError::malformed(self.shared_name(), error))
    }

    /// Sends a request; a second time when the server says that it has not taken the first, its session gone.
    async fn request<T: Serialize>(
        &self,
        method: &str,
        mut params: impl FnMut() -> Result<T, ServerError>,
        within: Duration,
    ) -> Result<Message, ServerError> {
        let running = async {
            let mut again = true;
            loop {
                let session = self.inner().session().await?;
                let Failed {
                    error,
                    lost,
                    not_taken,
                } = match session.call(method, &params()?).await {
                    Ok(answer) => return Ok(answer),
                    Err(failed) => failed,
                };
                if lost {
                    self.inner().lost(&session);
                }
                if !(lost && not_taken && again) {
                    return Err(error);
                }
                again = false;
            }
        };
        let name: &Arc<str> = self.shared_name();
        match timeout(within, running).await {
            Ok(done) => done,
            Err(_elapsed) => Err(ServerError::timeout(name, within)),
        }
    }
}
