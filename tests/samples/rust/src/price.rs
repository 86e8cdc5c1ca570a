pub trait Price {
    fn net(&self) -> u32;
}

/// Half of it.
pub struct Reduced {
    pub amount: u32,
}

impl Reduced {
    pub fn new(amount: u32) -> Self {
        Self { amount }
    }
}

impl Price for Reduced {
    fn net(&self) -> u32 {
        self.amount / 2
    }
}
