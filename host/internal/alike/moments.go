package alike

import "slices"

// within is how far apart two reports of one failure may be, in milliseconds.
const within = 2000

// Moments are times in milliseconds since the Unix epoch, in order.
type Moments []int64

// Near reports whether something happened about then.
func (m Moments) Near(at int64) bool { return m.Index(at) >= 0 }

// Index returns the first of the moments that is about then, -1 for none.
func (m Moments) Index(at int64) int {
	i, _ := slices.BinarySearch(m, at-within)
	if i < len(m) && m[i] <= at+within {
		return i
	}
	return -1
}

// Near reports whether two things happened at about the same time.
func Near(a, b int64) bool { return Moments{a}.Near(b) }

// MomentsOf collects the times of some entries by what they have in common.
func MomentsOf[K comparable](each func(add func(K, int64))) map[K]Moments {
	found := map[K]Moments{}
	each(func(k K, at int64) { found[k] = append(found[k], at) })
	for _, m := range found {
		slices.Sort(m)
	}
	return found
}

// Before reports whether the next of the moments after a time is near.
func (m Moments) Before(at int64) bool {
	i, _ := slices.BinarySearch(m, at+1)
	return i < len(m) && m[i] <= at+within
}

// Between reports whether one of the moments is after a time, and not after another one.
func (m Moments) Between(from, to int64) bool {
	i, _ := slices.BinarySearch(m, from+1)
	return i < len(m) && m[i] <= to
}
