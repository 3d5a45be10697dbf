//! Making an interceptor.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tower::util::BoxCloneSyncService;
use tower_service::Service;

use super::{
    Descriptor, EventPattern, Handler, Hook, InterceptorType, Invocation, Mode, Mutator, Outcome, Phase,
    PriorityHint, Sink, Validator, handler::HandlerService,
};
use crate::BoxError;

/// An interceptor: what it says about itself, and the service that answers.
///
/// ```
/// use mcp_interceptors::{interceptor::Interceptor, message::Payload};
///
/// let no_rm = Interceptor::validator("no-rm")
///     .on("tools/call").request()
///     .handler(|payload: Payload| async move {
///         Ok::<_, mcp_interceptors::BoxError>(payload.get("/name")?.is_none_or(|name| name.raw() != "\"rm\""))
///     });
/// assert_eq!(no_rm.descriptor().name, "no-rm");
/// ```
#[derive(Clone)]
pub struct Interceptor {
    descriptor: Arc<Descriptor>,
    settings: Settings,
    service: InterceptorService,
}

/// An interceptor's service, its type erased.
pub type InterceptorService = BoxCloneSyncService<Invocation, Outcome, BoxError>;

/// What the descriptor of the SEP has no place for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) timeout: Option<Duration>,
    pub(crate) config: Option<Arc<RawValue>>,
    pub(crate) errors: bool,
    pub(crate) with_request: bool,
    pub(crate) overflow: Overflow,
    pub(crate) server: Option<Arc<str>>,
    /// It stands in for one that must not be missed: no override concerns it.
    pub(crate) fixed: bool,
}

/// What happens to a message when the queue of a sink that hooks it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The message goes on, the sink misses it, and that is counted.
    #[default]
    Drop,
    /// The message is blocked: what cannot be recorded must not happen.
    Block,
}

impl Interceptor {
    /// Begins a validator: it judges, and may block.
    pub fn validator(name: impl Into<String>) -> InterceptorBuilder<Validator> {
        InterceptorBuilder::new(name.into(), InterceptorType::Validation)
    }

    /// Begins a mutator: it may change the payload.
    pub fn mutator(name: impl Into<String>) -> InterceptorBuilder<Mutator> {
        InterceptorBuilder::new(name.into(), InterceptorType::Mutation)
    }

    /// Begins a sink: it takes note, off the path.
    pub fn sink(name: impl Into<String>) -> InterceptorBuilder<Sink> {
        InterceptorBuilder::new(name.into(), InterceptorType::Sink)
    }

    /// An interceptor from a descriptor and a service: a remote one, say.
    pub fn new<T>(descriptor: Descriptor, service: T) -> Self
    where
        T: Service<Invocation, Response = Outcome> + Clone + Send + Sync + 'static,
        T::Error: Into<BoxError>,
        T::Future: Send + 'static,
    {
        Self {
            descriptor: Arc::new(descriptor),
            settings: Settings::default(),
            service: erase(service),
        }
    }

    /// What it says about itself.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Says which server hosts it. Names are unique on a server, not across them.
    #[must_use]
    pub fn hosted_by(mut self, server: impl Into<Arc<str>>) -> Self {
        self.settings.server = Some(server.into());
        self
    }

    /// Puts a tower layer around its service: a timeout, a concurrency limit, a circuit breaker. What the
    /// layer makes fail is a failure of the interceptor, and its `failOpen` decides.
    #[must_use]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: tower_layer::Layer<InterceptorService>,
        L::Service: Service<Invocation, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Invocation>>::Error: Into<BoxError>,
        <L::Service as Service<Invocation>>::Future: Send + 'static,
    {
        Self {
            service: erase(layer.layer(self.service)),
            ..self
        }
    }

    pub(crate) fn with_hooks(mut self, hooks: Vec<Hook>) -> Self {
        Arc::make_mut(&mut self.descriptor).hooks = hooks;
        self
    }

    /// Makes overrides pass it by.
    pub(crate) fn fixed(mut self) -> Self {
        self.settings.fixed = true;
        self
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Its service, for one who invokes it without a chain.
    #[must_use]
    pub fn service(&self) -> InterceptorService {
        self.service.clone()
    }
}

fn erase<T>(service: T) -> InterceptorService
where
    T: Service<Invocation, Response = Outcome> + Clone + Send + Sync + 'static,
    T::Error: Into<BoxError>,
    T::Future: Send + 'static,
{
    BoxCloneSyncService::new(tower::ServiceExt::map_err(service, Into::into))
}

impl fmt::Debug for Interceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interceptor")
            .field("descriptor", &self.descriptor)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Builds an [`Interceptor`] of kind `K` with state `S`.
#[derive(Clone)]
pub struct InterceptorBuilder<K, S = ()> {
    descriptor: Descriptor,
    settings: Settings,
    state: S,
    kind: PhantomData<fn() -> K>,
}

impl<K> InterceptorBuilder<K> {
    fn new(name: String, kind: InterceptorType) -> Self {
        Self {
            descriptor: Descriptor::named(name, kind),
            settings: Settings::default(),
            state: (),
            kind: PhantomData,
        }
    }
}

impl<K, S> InterceptorBuilder<K, S> {
    /// Hooks an event: a method, `ns/*`, or `*`. Say next in which phase.
    ///
    /// `*` and `ns/*` cover every request except `initialize`, `server/discover` and `ping`; those, and
    /// notifications, are hooked by their exact name.
    ///
    /// # Panics
    ///
    /// When `event` is no event pattern. It is a name in the program; [`on_pattern`](Self::on_pattern) takes
    /// one from elsewhere.
    #[track_caller]
    pub fn on(self, event: &str) -> OnEvent<K, S> {
        match event.parse() {
            Ok(pattern) => self.on_pattern(pattern),
            Err(error) => panic!("{error}"),
        }
    }

    /// Hooks an event given as a pattern. Say next in which phase.
    pub fn on_pattern(self, event: EventPattern) -> OnEvent<K, S> {
        OnEvent {
            builder: self,
            events: vec![event],
        }
    }

    /// A text for people.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.descriptor.description = Some(description.into());
        self
    }

    /// The version of the interceptor.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.descriptor.version = Some(version.into());
        self
    }

    /// Where it stands among mutators: lower runs first. Validators and sinks have no order.
    #[must_use]
    pub fn priority(mut self, priority: impl Into<PriorityHint>) -> Self {
        self.descriptor.priority_hint = Some(priority.into());
        self
    }

    /// Active (the default), or audit: it runs off the path and has no effect.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.descriptor.mode = mode;
        self
    }

    /// Lets the message pass when the interceptor fails (a crash, a timeout). A verdict is never overruled.
    #[must_use]
    pub fn fail_open(mut self) -> Self {
        self.descriptor.fail_open = true;
        self
    }

    /// How long one run may take, waiting for readiness included.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// The configuration that each invocation carries. What does not serialise is none.
    #[must_use]
    pub fn config<T: Serialize + ?Sized>(mut self, config: &T) -> Self {
        self.settings.config = to_raw_value(config).ok().map(Arc::from);
        self
    }

    /// The JSON Schema of the configuration. A [server](crate::server) built with the feature `schema` refuses an
    /// invocation whose configuration does not fit.
    #[must_use]
    pub fn config_schema(mut self, schema: impl Into<serde_json::Value>) -> Self {
        self.descriptor = self.descriptor.with_config_schema(schema);
        self
    }

    /// Shows it JSON-RPC error answers too, as their `error` object, in the response phase.
    #[must_use]
    pub fn errors(mut self) -> Self {
        self.settings.errors = true;
        self
    }

    /// Shows it, in the response phase, the payload of the request as well.
    #[must_use]
    pub fn with_request(mut self) -> Self {
        self.settings.with_request = true;
        self
    }

    /// For a sink: what happens when its queue is full.
    #[must_use]
    pub fn on_overflow(mut self, overflow: Overflow) -> Self {
        self.settings.overflow = overflow;
        self
    }

    /// State that the function takes as `State<S>`; each run gets a clone.
    #[must_use]
    pub fn state<T: Clone>(self, state: T) -> InterceptorBuilder<K, T> {
        InterceptorBuilder {
            descriptor: self.descriptor,
            settings: self.settings,
            state,
            kind: PhantomData,
        }
    }

    /// The function that answers; see [`Handler`].
    #[must_use]
    pub fn handler<H, Args>(self, handler: H) -> Interceptor
    where
        H: Handler<K, S, Args>,
        K: 'static,
        S: Send + Sync + 'static,
        Args: 'static,
    {
        let service = HandlerService::<H, K, S, Args>::new(handler, self.state);
        Interceptor {
            descriptor: Arc::new(self.descriptor),
            settings: self.settings,
            service: erase(service),
        }
    }

    /// The service that answers, in place of a function.
    #[must_use]
    pub fn service<T>(self, service: T) -> Interceptor
    where
        T: Service<Invocation, Response = Outcome> + Clone + Send + Sync + 'static,
        T::Error: Into<BoxError>,
        T::Future: Send + 'static,
    {
        Interceptor {
            descriptor: Arc::new(self.descriptor),
            settings: self.settings,
            service: erase(service),
        }
    }

    fn hook(mut self, phase: Phase, events: Vec<EventPattern>) -> Self {
        self.descriptor.hooks.push(Hook::new(phase, events));
        self
    }
}

impl<K, S> fmt::Debug for InterceptorBuilder<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterceptorBuilder")
            .field("descriptor", &self.descriptor)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Events that wait for their phase.
#[derive(Debug)]
#[must_use = "say in which phase: request(), response() or both()"]
pub struct OnEvent<K, S> {
    builder: InterceptorBuilder<K, S>,
    events: Vec<EventPattern>,
}

impl<K, S> OnEvent<K, S> {
    /// One event more.
    ///
    /// # Panics
    ///
    /// As [`InterceptorBuilder::on`].
    #[track_caller]
    pub fn and(mut self, event: &str) -> Self {
        match event.parse() {
            Ok(pattern) => self.events.push(pattern),
            Err(error) => panic!("{error}"),
        }
        self
    }

    /// More events, given as patterns.
    pub fn and_patterns(mut self, events: impl IntoIterator<Item = EventPattern>) -> Self {
        self.events.extend(events);
        self
    }

    /// In the request phase: requests and notifications.
    #[must_use]
    pub fn request(self) -> InterceptorBuilder<K, S> {
        self.builder.hook(Phase::Request, self.events)
    }

    /// In the response phase: answers.
    #[must_use]
    pub fn response(self) -> InterceptorBuilder<K, S> {
        self.builder.hook(Phase::Response, self.events)
    }

    /// In both.
    #[must_use]
    pub fn both(self) -> InterceptorBuilder<K, S> {
        self.builder
            .hook(Phase::Request, self.events.clone())
            .hook(Phase::Response, self.events)
    }
}
