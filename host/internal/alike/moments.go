package alike

import "slices"

// within is how far apart two reports of one failure may be, in milliseconds.
const within = 2000

// Moments are times in milliseconds since the Unix epoch, in order.
type Moments []int64

// Near reports whether something happened about then.
func (m Moments) Near(at int64) bool {
	i, _ := slices.BinarySearch(m, at-within)
	return i < len(m) && m[i] <= at+within
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
