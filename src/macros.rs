//! What all layers' services have.

/// Access to the field `inner` of a layer's service.
macro_rules! inner_accessors {
    () => {
        /// The inner service.
        pub fn get_ref(&self) -> &S {
            &self.inner
        }

        /// The inner service, to change it.
        pub fn get_mut(&mut self) -> &mut S {
            &mut self.inner
        }

        /// The inner service, without the layer.
        pub fn into_inner(self) -> S {
            self.inner
        }
    };
}

pub(crate) use inner_accessors;
