package wire

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
)

func TestFramesComeBackAsTheyWereWritten(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream, 0)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for n := range 50 {
				if err := w.Write(bytes.Repeat([]byte{byte('a' + i)}, n*37)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	r := NewReader(&stream, 0)
	for range 8 * 50 {
		frame, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if len(frame) > 0 && len(bytes.Trim(frame, string(frame[:1]))) > 0 {
			t.Fatalf("two frames were mixed: %q", frame)
		}
	}
	if _, err := r.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestBrokenStreams(t *testing.T) {
	for name, c := range map[string]struct {
		stream []byte
		want   error
	}{
		"half a length":       {[]byte{1, 0}, io.ErrUnexpectedEOF},
		"half a frame":        {[]byte{9, 0, 0, 0, '{'}, io.ErrUnexpectedEOF},
		"a length of 4 GiB":   {[]byte{0xff, 0xff, 0xff, 0xff}, ErrTooLarge},
		"one byte over":       {[]byte{101, 0, 0, 0}, ErrTooLarge},
		"nothing":             {nil, io.EOF},
		"an empty frame then": {[]byte{0, 0, 0, 0}, nil},
	} {
		_, err := NewReader(bytes.NewReader(c.stream), 100).Read()
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := NewWriter(io.Discard, 4).Write([]byte("12345")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("writing too much: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, '{', '}', 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data), 1<<16)
		read := 0
		for {
			frame, err := r.Read()
			if err != nil {
				break
			}
			if read += 4 + len(frame); read > len(data) {
				t.Fatal("more was read than there is")
			}
		}
	})
}
