//! How often watched places are checked, and how many at once. Knows numbers and times, and nothing of files.
//!
//! The cost of a check depends on the file system, on the depth of a place, and on the load of the machine. So nothing is estimated
//! in advance: the time that checks took decides how long they rest. All watches are checked in turn, one stretch at a time. A few
//! watches make one stretch every two seconds. If there are many, each has its turn less often.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// How often everything is checked, if that takes little time.
const ROUND: Duration = Duration::from_secs(2);

/// Maximum number of places in one stretch, and its maximum time: events wait for its end.
pub(crate) const STRETCH: usize = 256;
pub(crate) const STRETCH_TIME: Duration = Duration::from_millis(10);

/// Checks take at most a twentieth of the time.
const LOOKING: u32 = 20;

/// Notifications take at most a fifth of it: there is a change to report, and clients wait for it.
const TELLING: u32 = 5;

/// The longest rest. A check that took seconds has waited for a file system that hangs. That costs nothing, and is no reason to
/// stop checking for hours.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Which watches are checked next, and when.
pub(crate) struct Rounds {
    begun: Instant,
    due: Instant,
    /// The numbers that are still to be checked in this round. New watches are checked in the next round, so that this one ends,
    /// however many are added.
    left: Option<RangeInclusive<u64>>,
    /// The watches that this round found changed, and those of the round before.
    found: HashSet<u64>,
    found_before: HashSet<u64>,
}

impl Rounds {
    /// Creates the rounds. Each watch was checked when it began, so the first round is due one `ROUND` later.
    pub(crate) fn new(now: Instant) -> Self {
        let (found, found_before) = Default::default();
        Self { begun: now, due: now + ROUND, left: None, found, found_before }
    }

    /// Returns when the next stretch is due.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Returns the numbers whose turn it is. The caller checks as many as fit into a stretch. `newest` is the highest number now.
    pub(crate) fn turn(&mut self, newest: u64, now: Instant) -> RangeInclusive<u64> {
        if self.left.is_none() {
            self.begun = now;
        }
        self.left.get_or_insert(0..=newest).clone()
    }

    /// Records a stretch: the number that it reached, if it checked any, and the watches that changed. At the end of a round,
    /// returns the changed watches of this round and of the one before. So changes that happen at once are found within two rounds,
    /// however far apart their watches are.
    pub(crate) fn looked(
        &mut self,
        reached: Option<u64>,
        changed: &HashSet<u64>,
    ) -> Option<HashSet<u64>> {
        self.found.extend(changed);
        let last = self.left.take().map(|left| *left.end());
        self.left =
            reached.zip(last).filter(|(reached, last)| reached < last).map(|(r, l)| r + 1..=l);
        if self.left.is_some() {
            return None;
        }
        let found = std::mem::take(&mut self.found);
        let before = std::mem::replace(&mut self.found_before, found.clone());
        (!found.is_empty()).then(|| found.union(&before).copied().collect())
    }

    /// Records the end of all work in a stretch, and sets when the next one is due.
    pub(crate) fn rest(&mut self, began: Instant, ended: Instant) {
        self.due = ended + rest(LOOKING, ended - began);
        if self.left.is_none() {
            self.due = self.due.max(self.begun + ROUND);
        }
    }
}

/// Returns when to notify again, after a notification.
pub(crate) fn tell_again(began: Instant, ended: Instant) -> Instant {
    ended + rest(TELLING, ended - began)
}

/// Returns how long to rest after work of this duration, so that it takes one of `parts` parts of the time.
fn rest(parts: u32, took: Duration) -> Duration {
    took.saturating_mul(parts - 1).min(LONGEST_REST)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// How long a check takes here.
    const LOOK: Duration = Duration::from_micros(20);

    /// A simulated clock, and the times at which each watch was checked.
    struct World {
        rounds: Rounds,
        now: Instant,
        watched: BTreeSet<u64>,
        looks: BTreeMap<u64, Vec<Instant>>,
        looking: Duration,
    }

    impl World {
        fn watching(count: u64) -> Self {
            let now = Instant::now();
            Self {
                rounds: Rounds::new(now),
                now,
                watched: (1..=count).collect(),
                looks: BTreeMap::new(),
                looking: Duration::ZERO,
            }
        }

        /// Does what `watch` does when a stretch is due, without files.
        fn stretch(&mut self) {
            self.now = self.now.max(self.rounds.due());
            let began = self.now;
            let turn = self.rounds.turn(self.watched.last().copied().unwrap_or(0), began);
            let mut reached = None;
            for number in self.watched.range(turn).take(STRETCH) {
                self.now += LOOK;
                self.looks.entry(*number).or_default().push(self.now);
                reached = Some(*number);
                if self.now - began >= STRETCH_TIME {
                    break;
                }
            }
            self.looking += self.now - began;
            self.rounds.looked(reached, &HashSet::new());
            self.rounds.rest(began, self.now);
        }

        fn stretches_for(&mut self, time: Duration) {
            let end = self.now + time;
            while self.rounds.due() < end {
                self.stretch();
            }
            self.now = end;
        }

        fn longest_without_a_look(&self) -> Duration {
            let pauses = |looks: &Vec<Instant>| looks.windows(2).map(|w| w[1] - w[0]).max();
            self.looks.values().filter_map(pauses).max().unwrap()
        }
    }

    #[test]
    fn up_to_4000_watches_are_checked_every_two_seconds() {
        for count in [1, 10, 256, 1000, 4000] {
            let mut world = World::watching(count);
            world.stretches_for(Duration::from_secs(60));
            assert_eq!(world.looks.len() as u64, count);
            let longest = world.longest_without_a_look();
            assert!(longest < ROUND + Duration::from_millis(100), "{count}: {longest:?}");
        }
    }

    #[test]
    fn checks_of_many_watches_use_a_twentieth_of_the_time() {
        for count in [10_000, 50_000, 200_000] {
            let mut world = World::watching(count);
            let time = Duration::from_secs(600);
            world.stretches_for(time);
            let share = world.looking.as_secs_f64() / time.as_secs_f64();
            assert!(share < 0.051, "{count}: {share}");
            assert_eq!(world.looks.len() as u64, count);
            // No watch waits longer than all others take, including the rests.
            let longest = world.longest_without_a_look().as_secs_f64();
            let all = (LOOK * LOOKING).as_secs_f64() * count as f64;
            assert!(longest < all * 1.1 + 1.0, "{count}: {longest} s");
        }
    }

    #[test]
    fn new_and_ended_watches_never_delay_the_others() {
        let mut world = World::watching(2000);
        let mut newest = 2000;
        // In every stretch more watches begin than it can check, and earlier ones end, among them the last of the round.
        for _ in 0..100 {
            world.stretch();
            world.watched.retain(|number| *number <= 1000 || *number > newest - 1000);
            world.watched.extend(newest + 1..=newest + 1000);
            newest += 1000;
        }
        let first = world.looks[&1].len();
        assert!(first > 5, "{first}");
        assert!((1..=1000).all(|number| world.looks[&number].len().abs_diff(first) <= 1));
    }

    #[test]
    fn stalled_check_delays_the_next_one_by_at_most_a_minute() {
        let began = Instant::now();
        let ended = began + Duration::from_secs(1200);
        let mut rounds = Rounds::new(began);
        assert_eq!(rounds.turn(9, began), 0..=9);
        rounds.looked(Some(3), &HashSet::new());
        rounds.rest(began, ended);
        assert_eq!(rounds.due(), ended + LONGEST_REST);
        assert_eq!(rounds.turn(12, rounds.due()), 4..=9);
    }

    #[test]
    fn change_during_a_round_is_complete_after_the_next_round() {
        let now = Instant::now();
        let mut rounds = Rounds::new(now);
        let mut stretch = |reached, found: &[u64]| {
            rounds.turn(9, now);
            let found = rounds.looked(Some(reached), &found.iter().copied().collect());
            found.map(|found| found.into_iter().collect::<BTreeSet<_>>())
        };
        // The second and the eighth swap places after the second had its turn.
        assert_eq!(stretch(5, &[]), None);
        assert_eq!(stretch(9, &[8]), Some(BTreeSet::from([8])));
        assert_eq!(stretch(5, &[2]), None);
        assert_eq!(stretch(9, &[]), Some(BTreeSet::from([2, 8])));
        // A round without changes returns nothing.
        assert_eq!(stretch(9, &[]), None);
        assert_eq!(stretch(9, &[4]), Some(BTreeSet::from([4])));
    }

    #[test]
    fn long_report_delays_the_next_one() {
        let began = Instant::now();
        let ended = began + Duration::from_secs(1);
        assert_eq!(tell_again(began, ended), began + Duration::from_secs(5));
    }
}
