//! The evaluations on one span, joined from attributes that name, number and label them apart.

/// Evaluations that a record holds; judges write one to four for an answer.
const MOST: usize = 4;

/// One evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score<T> {
    /// What was judged.
    pub name: Option<T>,
    /// As a number.
    pub value: Option<f64>,
    /// As a word.
    pub label: Option<T>,
    /// Tells evaluations of one span apart: their group in the table, and their number.
    key: (u8, u32),
}

/// Up to four evaluations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores<T>([Option<Score<T>>; MOST]);

impl<T> Default for Scores<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| None))
    }
}

impl<T> Scores<T> {
    /// Those that there are.
    pub fn iter(&self) -> impl Iterator<Item = &Score<T>> {
        self.0.iter().flatten()
    }
}

impl<T: Copy> Scores<T> {
    /// The evaluation with this key, a new one if need be; `None` when there are too many.
    pub(super) fn at(&mut self, key: (u8, u32)) -> Option<&mut Score<T>> {
        let place = self.0.iter().position(|score| match score {
            Some(score) => score.key == key,
            None => true,
        })?;
        Some(self.0.get_mut(place)?.get_or_insert(Score {
            name: None,
            value: None,
            label: None,
            key,
        }))
    }

    /// Puts them in an order that does not depend on the attributes', and leaves out those that say nothing.
    pub(super) fn settle(&mut self) {
        for place in &mut self.0 {
            if place.is_some_and(|score| score.value.is_none() && score.label.is_none()) {
                *place = None;
            }
        }
        self.0
            .sort_by_key(|score| score.map_or((u8::MAX, u32::MAX), |score| score.key));
    }

    /// With other texts.
    pub(super) fn map<U>(&self, mut name: impl FnMut(T) -> U) -> Scores<U> {
        Scores(std::array::from_fn(|place| {
            let score = self.0.get(place).copied().flatten()?;
            Some(Score {
                name: score.name.map(&mut name),
                value: score.value,
                label: score.label.map(&mut name),
                key: score.key,
            })
        }))
    }
}

#[cfg(test)]
impl<T> Scores<T> {
    /// With texts that borrow from these.
    pub(super) fn map_ref<'a, U>(&'a self, name: impl Fn(&'a T) -> U) -> Scores<U> {
        Scores(std::array::from_fn(|place| {
            let score = self.0.get(place)?.as_ref()?;
            Some(Score {
                name: score.name.as_ref().map(&name),
                value: score.value,
                label: score.label.as_ref().map(&name),
                key: score.key,
            })
        }))
    }
}
