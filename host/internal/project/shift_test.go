package project

import (
	"slices"
	"testing"
)

func TestPortsOfThisMachineAreShifted(t *testing.T) {
	got := Shift([]string{"http://localhost:5173", "http://[::1]:80", "http://127.0.0.1:65500", "https://example.com:8080", "http://localhost", "http://a.localhost:3000"}, 100)
	want := []string{"http://localhost:5273", "http://[::1]:180", "http://127.0.0.1:65500", "https://example.com:8080", "http://localhost", "http://a.localhost:3100"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Shift(nil, 100); got != nil {
		t.Errorf("no origins become %q", got)
	}
}
