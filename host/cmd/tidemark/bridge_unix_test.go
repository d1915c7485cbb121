//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// TestAnAgentThatReadsNoMoreIsNotWaitedFor: a killed agent closes both of its pipes, so no answer is needed.
func TestAnAgentThatReadsNoMoreIsNotWaitedFor(t *testing.T) {
	answers, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	hungUp := make(chan error, 1)
	b := &bridge{in: strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}` + "\n"), out: out, dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			_, err := io.Copy(io.Discard, theirs) // a daemon that takes its time
			hungUp <- err
		}()
		return ours, nil
	}}
	done := make(chan error, 1)
	go func() { done <- b.run(t.Context()) }()
	_ = answers.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-hungUp; err != nil {
		t.Error(err)
	}
}
