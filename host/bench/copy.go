package main

import (
	"encoding/json"
	"net"
	"os"
	"time"

	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/protocol"
)

// A bare copy is what the daemon's ingest is compared with: it reads the same frames from a socket, decodes them with
// encoding/json, appends them to a file and acknowledges what is on disk, ten times a second. It keeps, masks and
// indexes nothing.
func serveCopy(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	file, err := os.Create(socket + ".events")
	if err != nil {
		return err
	}
	next := make(chan int64, 1) // the newest, to be acknowledged
	go func() {
		w := wire.NewWriter(conn, protocol.MaxToHost)
		for range time.Tick(100 * time.Millisecond) {
			select {
			case n := <-next:
				data, err := json.Marshal(protocol.Ack{Type: protocol.TypeAck, Stream: feederStream, Next: n})
				if file.Sync() != nil || err != nil || w.Write(data) != nil {
					return // the reader ends with the connection
				}
			default:
			}
		}
	}()
	r := wire.NewReader(conn, protocol.MaxToHost)
	for {
		frame, err := r.Read()
		if err != nil {
			return nil // the feeder has gone
		}
		var msg struct {
			Type   string           `json:"type"`
			First  int64            `json:"first"`
			Events []map[string]any `json:"events"`
		}
		if err := json.Unmarshal(frame, &msg); err != nil {
			return err
		}
		if _, err := file.Write(frame); err != nil {
			return err
		}
		if msg.Type == protocol.TypeEvents {
			select {
			case <-next:
			default:
			}
			next <- msg.First + int64(len(msg.Events))
		}
	}
}
