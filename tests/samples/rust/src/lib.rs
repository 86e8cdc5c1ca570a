pub mod price;

use price::{Price, Reduced};

pub fn total(prices: &[Reduced]) -> u32 {
    let é = "ünïcode".len() as u32; prices.iter().map(|price| price.net()).sum::<u32>() + é
}

pub fn start() -> u32 {
    total(&[Reduced::new(1)])
}
