//! `interceptors/list`.

use serde_json::value::RawValue;

use super::{
    eras::raw,
    errors::Refusal,
    host::{Host, Hosted},
    old,
};
use crate::{
    interceptor::{Descriptor, EventPattern, ListInterceptorsParams, ListInterceptorsResult},
    message::{Era, Message},
};

/// All on one page, in the order of registration.
pub(super) fn list(host: &Host, message: &Message) -> Result<Box<RawValue>, Refusal> {
    let params: ListInterceptorsParams = message
        .payload()
        .parse()
        .map_err(|error| Refusal::invalid_params(error.to_string()))?;
    if params.cursor.is_some() {
        return Err(Refusal::invalid_params("there is one page, and so no cursor"));
    }
    let filter = params.event.map(|event| event.parse::<EventPattern>());
    let filter = filter
        .transpose()
        .map_err(|error| Refusal::invalid_params(error.to_string()))?;
    let listed = host
        .hosted
        .iter()
        .map(Hosted::descriptor)
        .filter(|descriptor| filter.as_ref().is_none_or(|filter| concerns(descriptor, filter)))
        .map(|descriptor| match &host.old {
            Some(_) => old::descriptor(descriptor),
            None => descriptor.clone(),
        });
    let mut result = ListInterceptorsResult::new(listed);
    if message.era() == Era::Modern {
        result.extra.insert("resultType", raw(&"complete"));
    }
    Ok(raw(&result))
}

/// Whether there is an event that both the filter and a hook cover. A hook `*` concerns every filter.
fn concerns(descriptor: &Descriptor, filter: &EventPattern) -> bool {
    let mut hooked = descriptor.hooks.iter().flat_map(|hook| &hook.events);
    hooked.any(|hooked| hooked.is_any() || filter.is_any() || hooked.covers(filter) || filter.covers(hooked))
}
