//! What the health pages ask of whoever runs the parts.

/// Tells whether spans are taken and decided.
pub trait Observe: Send + Sync + 'static {
    /// Ready, or one line that says why not.
    ///
    /// # Errors
    /// The reason, for people; no text of a span in it.
    fn ready(&self) -> Result<(), String>;
}
