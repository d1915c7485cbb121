package link_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/link"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/redact"
)

// bubble runs a hub in a bubble of time. The connections of its browsers are unbuffered.
func bubble(t *testing.T, run func(t *testing.T, hub *link.Hub, store *capture.Store)) {
	synctest.Test(t, func(t *testing.T) {
		store := capture.New(capture.DefaultLimits(), noise.Default(), time.Now())
		run(t, link.NewHub(link.Options{
			Store: store, Decoder: event.NewDecoder(redact.Default()), Clock: time.Now, Log: slog.New(slog.DiscardHandler),
			Handle: func(context.Context, string, string, []byte) (any, error) { return struct{}{}, nil },
		}), store)
	})
}

func serve(t *testing.T, hub *link.Hub, store *capture.Store) (theirs net.Conn, ended chan error) {
	ours, theirs := net.Pipe()
	ended = make(chan error, 1)
	go func() { ended <- hub.Serve(context.Background(), ours, capture.NewSink(store, hub.Name(), time.Now)) }()
	t.Cleanup(func() { _ = theirs.Close() })
	return theirs, ended
}

func write(t *testing.T, conn net.Conn, message string) {
	t.Helper()
	frame := binary.NativeEndian.AppendUint32(nil, uint32(len(message)))
	if _, err := conn.Write(append(frame, message...)); err != nil {
		t.Fatal(err)
	}
}

func TestABrowserThatDoesNotReadHoldsUpNobodyAndIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, hub *link.Hub, store *capture.Store) {
		deaf, ended := serve(t, hub, store)
		write(t, deaf, strings.Replace(hello, `"instance":"i"`, `"instance":"deaf"`, 1))
		write(t, deaf, `{"type":"tabs","tabs":[{"id":1,"url":"http://localhost/","watched":true}]}`)
		well, _ := serve(t, hub, store)
		write(t, well, hello)
		go func() { _, _ = io.Copy(io.Discard, well) }()
		synctest.Wait()
		began := time.Now()
		if _, noCapture := hub.Sync(context.Background(), 400*time.Millisecond); len(noCapture) != 1 || time.Since(began) != 500*time.Millisecond {
			t.Errorf("%v after %s", noCapture, time.Since(began))
		}
		if err := <-ended; time.Since(began) != 10*time.Second || err == nil {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if v := store.View(time.Now()); v.Tabs[0].Watched {
			t.Error("its tabs still count as watched")
		}
	})
}

func TestMoreMessagesThanABrowserMayLeaveUnreadCutItOffAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, hub *link.Hub, store *capture.Store) {
		deaf, ended := serve(t, hub, store)
		write(t, deaf, hello)
		began := time.Now()
		for i := range 400 {
			frame := fmt.Sprintf(`{"type":"events","stream":"s","first":%d,"events":[]}`, i+1)
			head := binary.NativeEndian.AppendUint32(nil, uint32(len(frame)))
			if _, err := deaf.Write(append(head, frame...)); err != nil {
				if i < 256 {
					t.Errorf("cut off after %d messages", i)
				}
				break
			}
		}
		if err := <-ended; err == nil || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestTheTabsOfABrowserThatGoesWhileItIsAskedAreNamed(t *testing.T) {
	bubble(t, func(t *testing.T, hub *link.Hub, store *capture.Store) {
		conn, ended := serve(t, hub, store)
		write(t, conn, hello)
		write(t, conn, `{"type":"tabs","tabs":[{"id":1,"url":"http://localhost/","watched":true}]}`)
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		synctest.Wait()
		time.AfterFunc(100*time.Millisecond, func() { _ = conn.Close() })
		began := time.Now()
		noDOM, noCapture := hub.Sync(context.Background(), time.Minute)
		if len(noDOM) != 0 || len(noCapture) != 1 || noCapture[0] != store.HostTab("i", 1) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v %v after %s", noDOM, noCapture, time.Since(began))
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if noDOM, noCapture := hub.Sync(context.Background(), time.Minute); len(noDOM)+len(noCapture) != 0 {
			t.Errorf("a browser that is gone was asked: %v %v", noDOM, noCapture)
		}
	})
}

func TestTabsAreMaskedAndCleaned(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(hello)
	p.expect("welcome", nil)
	p.send(`{"type":"tabs","tabs":[{"id":1,"url":"http://localhost/?token=hunter2hunter2","title":"key AKIAIOSFODNN7EXAMPLE\u202e","note":"\u001b[31mred","watched":true}]}`)
	p.send(`{"type":"request","id":1,"method":"x"}`)
	p.expect("response", nil)
	if tab := store.View(time.Now()).Tabs[0]; tab.URL != "http://localhost/?token=[masked]" || tab.Title != "key [masked]" || tab.Note != "red" || tab.Origin != "http://localhost" {
		t.Errorf("%+v", tab)
	}
}
