package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// subscription is a resource that an agent follows. The bridge renews it with the next daemon at the agent's next
// request. An agent that only listens starts no daemon.
type subscription struct {
	// key is the resource's URI, or the request's ID for a long-lived request.
	key  string
	uris []string
	line []byte
	// asked is the ID of the last subscribe request. If the daemon refuses it, the subscription ends.
	asked json.RawMessage
	// id is the ID of a long-lived request, which is answered when it ends. It is nil for other requests.
	id json.RawMessage
}

// subscribeAgain is the prefix of the IDs of the bridge's own requests.
const subscribeAgain = "tidemark-subscribe-"

// follow records the agent's subscriptions and their ends. It reports whether the line is a long-lived request.
func (b *bridge) follow(m message, line []byte) (lasts bool) {
	var p struct {
		Params struct {
			URI           string          `json:"uri"`
			RequestID     json.RawMessage `json:"requestId"`
			Notifications struct {
				Resources []string `json:"resourceSubscriptions"`
			} `json:"notifications"`
		} `json:"params"`
	}
	switch m.Method {
	case "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "notifications/cancelled":
		_ = json.Unmarshal(line, &p) // the daemon answers unreadable lines
	default:
		return false
	}
	switch {
	case m.Method == "resources/subscribe" && m.ID != nil:
		b.forget(p.Params.URI)
		b.follows = append(b.follows, subscription{key: p.Params.URI, uris: []string{p.Params.URI}, line: line, asked: m.ID})
	case m.Method == "resources/unsubscribe":
		b.forget(p.Params.URI)
	case m.Method == "subscriptions/listen" && m.ID != nil:
		b.follows = append(b.follows, subscription{key: string(m.ID), uris: p.Params.Notifications.Resources, line: line, id: m.ID})
		return true
	case m.Method == "notifications/cancelled":
		b.forget(string(p.Params.RequestID))
		b.settled(p.Params.RequestID)
	}
	return false
}

// refused forgets the subscription whose request the daemon answered with an error.
func (b *bridge) refused(id json.RawMessage) {
	b.follows = slices.DeleteFunc(b.follows, func(s subscription) bool { return string(s.asked) == string(id) })
}

func (b *bridge) forget(key string) {
	b.follows = slices.DeleteFunc(b.follows, func(s subscription) bool { return s.key == key })
}

// followAgain renews the agent's subscriptions with the next daemon. It notifies the agent that each resource may
// have changed, because nothing watched them in between.
func (b *bridge) followAgain() error {
	var errs error
	for i, s := range b.follows {
		if slices.ContainsFunc(b.pending, func(r request) bool { return string(r.line) == string(s.line) }) {
			continue // its own request is already pending
		}
		line := s.line
		if s.id == nil {
			id := strconv.Quote(fmt.Sprint(subscribeAgain, i))
			again, err := json.Marshal(map[string]any{
				"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "resources/subscribe", "params": map[string]string{"uri": s.key},
			})
			if err != nil {
				return err
			}
			line, b.follows[i].asked = again, json.RawMessage(id)
		}
		errs = errors.Join(errs, b.send(line))
		for _, uri := range s.uris {
			params := map[string]any{"uri": uri}
			if s.id != nil {
				params["_meta"] = map[string]any{"io.modelcontextprotocol/subscriptionId": s.id}
			}
			update, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params})
			if err == nil {
				_, err = io.WriteString(b.out, string(update)+"\n")
			}
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// ownAnswer reports whether an answer is to one of the bridge's own requests.
func ownAnswer(id json.RawMessage) bool { return strings.HasPrefix(string(id), `"`+subscribeAgain) }
