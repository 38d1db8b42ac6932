#[candor::args]
union Either {
    number: u32,
    other: f32,
}

fn main() {
    let _ = Either { number: 1 };
}
