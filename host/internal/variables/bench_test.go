package variables

import (
	"fmt"
	"testing"
	"time"
)

// wide is n variables, of which every tenth is another in each generation.
func wide(n, generation int) *Snapshot {
	s := &Snapshot{At: time.Unix(int64(generation), 0), Thread: 1}
	for i := range n {
		v := number(i)
		if i%10 == 0 {
			v = number(i * generation)
		}
		s.Variables = append(s.Variables, Variable{Scope: ScopeLocal, Value: field(fmt.Sprintf("v%d", i), v)})
	}
	return s
}

// deep is an object of about n paths: arrays of objects of ten fields, one array put in front of the others.
func deep(n, generation int) *Snapshot {
	var rows []Value
	for i := range n / 11 {
		row := object("Row")
		for f := range 10 {
			v := number(i*f + f)
			if f == 9 && i%100 == 0 {
				v = number(generation)
			}
			row.Children = append(row.Children, field(fmt.Sprintf("f%d", f), v))
		}
		row.Size = len(row.Children)
		rows = append(rows, row)
	}
	for g := range generation {
		rows = append([]Value{object("Row", field("f0", number(-g-1)))}, rows...)
	}
	return snap(field("rows", array(rows...)))
}

// strangers are arrays of n numbers that have little in common.
func strangers(n, generation int) *Snapshot {
	var all []Value
	for i := range n {
		all = append(all, number((i*7919+generation*104729*i)%(n/2+1)))
	}
	return snap(field("a", array(all...)))
}

func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int
		of   func(n, generation int) *Snapshot
	}{
		{"variables=200", 200, wide},
		{"paths=25000", 25_000, deep},
		{"paths=50000", 50_000, deep},
		{"paths=100000", 100_000, deep},
		{"strangers=50000", 50_000, strangers},
		{"strangers=100000", 100_000, strangers},
	} {
		b.Run(c.name, func(b *testing.B) {
			from, to := c.of(c.n, 1), c.of(c.n, 2)
			b.ReportAllocs()
			for b.Loop() {
				if Compare(from, to).Empty() {
					b.Fatal("nothing differs")
				}
			}
		})
	}
}
