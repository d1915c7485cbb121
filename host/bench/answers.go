package main

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// answer is an answer that an agent got, as text.
type answer struct {
	Part string `json:"part"`
	Tool string `json:"tool"`
	Text string `json:"text"`
}

// Limits of the recorded answers: their number of each tool in a part, and the bytes of one.
const (
	maxAnswers     = 60
	maxAnswerBytes = 12 << 10
)

// answers are those of a run, without repetitions. A sample of them is what the estimates of package tokens are fitted to.
type answers struct {
	mu   sync.Mutex
	seen map[answer]bool
}

func (l *answers) add(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[answer]bool{}
	}
	if len(a.Text) <= maxAnswerBytes {
		l.seen[a] = true
	}
}

// sample returns up to [maxAnswers] answers of each tool in each part, which nothing but their text selects.
func (l *answers) sample() []answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.SortedFunc(maps.Keys(l.seen), func(a, b answer) int {
		return cmp.Or(strings.Compare(a.Part, b.Part), strings.Compare(a.Tool, b.Tool), cmp.Compare(hashOf(a.Text), hashOf(b.Text)))
	})
	of := map[answer]int{} // by part and tool
	return slices.DeleteFunc(all, func(a answer) bool {
		a.Text = ""
		of[a]++
		return of[a] > maxAnswers
	})
}

func hashOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}

// write writes the answers, one JSON object a line.
func (l *answers) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	e := json.NewEncoder(file)
	e.SetEscapeHTML(false)
	for _, a := range l.sample() {
		if err := e.Encode(a); err != nil {
			_ = file.Close()
			return err
		}
	}
	return file.Close()
}
