//! Guides, as they stand in `docs/`. Their examples are tests.

#[doc = include_str!("../docs/custom-layer.md")]
pub mod custom_layer {}

#[doc = include_str!("../docs/interceptor.md")]
pub mod interceptor {}

#[doc = include_str!("../docs/DESIGN.md")]
pub mod design {}
