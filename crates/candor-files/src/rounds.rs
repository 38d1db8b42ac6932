//! How often what is watched is looked at, and how much of it at once. Knows numbers and times, and nothing of files.
//!
//! What a look costs depends on the file system, on how deep a place lies and on how busy the machine is, so nothing is
//! reckoned beforehand: what was done says by the time it took how long it is left alone. All that is watched is looked at in
//! turn, a stretch at a time. Little of it is one stretch every two seconds; much of it simply has its turn less often.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// How often everything is looked at, where that takes little.
const ROUND: Duration = Duration::from_secs(2);

/// How many places are looked at in one stretch at most, and for how long: news wait for its end.
pub(crate) const STRETCH: usize = 256;
pub(crate) const STRETCH_TIME: Duration = Duration::from_millis(10);

/// Looks take a twentieth of the time at most.
const LOOKING: u32 = 20;

/// Telling takes a fifth of it: there is something to be told, and somebody waits for it.
const TELLING: u32 = 5;

/// The longest rest. What takes seconds has waited for a file system that hangs, which costs nothing, and is no reason to
/// look away for hours.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Which watches are looked at next, and when.
pub(crate) struct Rounds {
    begun: Instant,
    due: Instant,
    /// The numbers that have not had their turn. Whoever comes later is looked at in the next round, so that this one has an
    /// end however many come.
    left: Option<RangeInclusive<u64>>,
    /// Whom this round found changed, and whom the one before.
    found: HashSet<u64>,
    found_before: HashSet<u64>,
}

impl Rounds {
    /// Whoever watches has looked just now: the first round is due in a while.
    pub(crate) fn new(now: Instant) -> Self {
        let (found, found_before) = Default::default();
        Self { begun: now, due: now + ROUND, left: None, found, found_before }
    }

    /// When the next stretch is due.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// The numbers whose turn it is, as many of them as fit into a stretch; `newest` is the highest that there is now.
    pub(crate) fn turn(&mut self, newest: u64, now: Instant) -> RangeInclusive<u64> {
        if self.left.is_none() {
            self.begun = now;
        }
        self.left.get_or_insert(0..=newest).clone()
    }

    /// A stretch of looks came to this number, if there was any, and found these changed. Gives at the end of a round whom it
    /// found, together with those of the round before: whatever happens at once is found within two rounds, however far those
    /// whom it concerns are apart.
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

    /// All that there was to do in a stretch has been done.
    pub(crate) fn rest(&mut self, began: Instant, ended: Instant) {
        self.due = ended + rest(LOOKING, ended - began);
        if self.left.is_none() {
            self.due = self.due.max(self.begun + ROUND);
        }
    }
}

/// When to tell again, after this was told.
pub(crate) fn tell_again(began: Instant, ended: Instant) -> Instant {
    ended + rest(TELLING, ended - began)
}

/// How long to rest from what took this long, so that it takes one part in so many of the time.
fn rest(parts: u32, took: Duration) -> Duration {
    took.saturating_mul(parts - 1).min(LONGEST_REST)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// How long a look takes here.
    const LOOK: Duration = Duration::from_micros(20);

    /// A clock of its own, and for each watch when it was looked at.
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

        /// What `watch` does when it is time, without files.
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
    fn usual_numbers_are_looked_at_every_two_seconds() {
        for count in [1, 10, 256, 1000, 4000] {
            let mut world = World::watching(count);
            world.stretches_for(Duration::from_secs(60));
            assert_eq!(world.looks.len() as u64, count);
            let longest = world.longest_without_a_look();
            assert!(longest < ROUND + Duration::from_millis(100), "{count}: {longest:?}");
        }
    }

    #[test]
    fn however_many_are_watched_looks_take_a_twentieth_of_the_time_and_all_have_their_turn() {
        for count in [10_000, 50_000, 200_000] {
            let mut world = World::watching(count);
            let time = Duration::from_secs(600);
            world.stretches_for(time);
            let share = world.looking.as_secs_f64() / time.as_secs_f64();
            assert!(share < 0.051, "{count}: {share}");
            assert_eq!(world.looks.len() as u64, count);
            // Nobody waits for longer than all the others take, with the rests.
            let longest = world.longest_without_a_look().as_secs_f64();
            let all = (LOOK * LOOKING).as_secs_f64() * count as f64;
            assert!(longest < all * 1.1 + 1.0, "{count}: {longest} s");
        }
    }

    #[test]
    fn whoever_comes_and_goes_keeps_nobody_from_having_a_turn() {
        let mut world = World::watching(2000);
        let mut newest = 2000;
        // More come with every stretch than one can look at, and those before them go, the last of the round among them.
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
    fn a_look_that_hung_is_followed_by_others_within_a_minute() {
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
    fn what_happens_during_a_round_is_known_whole_at_the_end_of_the_next() {
        let now = Instant::now();
        let mut rounds = Rounds::new(now);
        let mut stretch = |reached, found: &[u64]| {
            rounds.turn(9, now);
            let found = rounds.looked(Some(reached), &found.iter().copied().collect());
            found.map(|found| found.into_iter().collect::<BTreeSet<_>>())
        };
        // The second and the eighth change places when the second has had its turn.
        assert_eq!(stretch(5, &[]), None);
        assert_eq!(stretch(9, &[8]), Some(BTreeSet::from([8])));
        assert_eq!(stretch(5, &[2]), None);
        assert_eq!(stretch(9, &[]), Some(BTreeSet::from([2, 8])));
        // Who finds nothing more gives nobody trouble.
        assert_eq!(stretch(9, &[]), None);
        assert_eq!(stretch(9, &[4]), Some(BTreeSet::from([4])));
    }

    #[test]
    fn whoever_had_much_to_tell_waits_before_the_next() {
        let began = Instant::now();
        let ended = began + Duration::from_secs(1);
        assert_eq!(tell_again(began, ended), began + Duration::from_secs(5));
    }
}
