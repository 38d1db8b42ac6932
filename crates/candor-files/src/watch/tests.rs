//! Rounds over real watches, without the thread that makes them.

use super::*;

const MANY: u64 = 1000;

/// A status that no file has, so that a check always finds a change.
const NEVER_SO: FileSnapshot = Some((Kind::Pipe, 7, None));

/// Watches many places where nothing exists, without a thread that checks them.
fn watching_many() -> (Watcher, Vec<Watch>) {
    let watcher = Watcher::new(Root::open(std::env::temp_dir()).unwrap());
    lock(&watcher.shared.state).told = true;
    let watches = (1..=MANY).map(|number| {
        let place = RootedPath::parse(&format!("candor-is-never-here/{number}")).unwrap();
        watcher.watch(place, format!("docs:///{number}"), Changes::default())
    });
    let watches = watches.collect();
    let mut state = lock(&watcher.shared.state);
    state.watched.values_mut().for_each(|watched| watched.seen = NEVER_SO);
    drop(state);
    (watcher, watches)
}

fn not_looked_at(watcher: &Watcher) -> usize {
    lock(&watcher.shared.state).watched.values().filter(|w| w.seen == NEVER_SO).count()
}

#[test]
fn large_round_checks_every_watch_in_stretches() {
    let (watcher, _watches) = watching_many();
    let mut rounds = Rounds::new(Instant::now());
    let mut left = not_looked_at(&watcher);
    assert_eq!(left as u64, MANY);
    while left > 0 {
        watcher.shared.look_on(&mut rounds);
        let now_left = not_looked_at(&watcher);
        assert!(now_left < left && left - now_left <= STRETCH, "{left}, then {now_left}");
        left = now_left;
    }
}

#[test]
fn watch_that_ends_during_a_round_costs_no_other_its_check() {
    let (watcher, watches) = watching_many();
    let mut rounds = Rounds::new(Instant::now());
    watcher.shared.look_on(&mut rounds);
    // Some that had their turn and some that had not, among them the last of the round.
    let (mut stay, mut go) = (Vec::new(), Vec::new());
    for watch in watches {
        if watch.number % 2 == 0 { go.push(watch) } else { stay.push(watch) }
    }
    drop(go);
    for _ in 0..stay.len() {
        watcher.shared.look_on(&mut rounds);
    }
    assert_eq!(not_looked_at(&watcher), 0);
    drop(stay);
    watcher.shared.look_on(&mut rounds);
    assert!(lock(&watcher.shared.state).watched.is_empty());
}
