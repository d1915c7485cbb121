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

// subscription is what an agent follows. The next daemon is asked for it again, together with what the agent
// asks next: whoever only listens starts no daemon.
type subscription struct {
	// key is the resource's address, or the request's id for one that lasts.
	key  string
	uris []string
	line []byte
	// asked is the request by which a daemon was asked for it last: one that it refuses is not followed.
	asked json.RawMessage
	// id is that of a request that lasts, which is answered when it ends; nil for one that is answered at once.
	id json.RawMessage
}

// subscribeAgain begins the ids of what the bridge asks by itself.
const subscribeAgain = "tidemark-subscribe-"

// follow notes what the agent subscribes to and ends, and says whether the line is a request that lasts.
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
		_ = json.Unmarshal(line, &p) // the daemon answers what cannot be read
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
	}
	return false
}

// refused forgets what a daemon was asked for by a request that it answered with an error.
func (b *bridge) refused(id json.RawMessage) {
	b.follows = slices.DeleteFunc(b.follows, func(s subscription) bool { return string(s.asked) == string(id) })
}

func (b *bridge) forget(key string) {
	b.follows = slices.DeleteFunc(b.follows, func(s subscription) bool { return s.key == key })
}

// followAgain asks the next daemon for what the agent follows, and tells the agent that it may have changed:
// nobody looked in between.
func (b *bridge) followAgain() error {
	var errs error
	for i, s := range b.follows {
		if slices.ContainsFunc(b.pending, func(r request) bool { return string(r.line) == string(s.line) }) {
			continue // it is being asked for anyway
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
			told, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params})
			if err == nil {
				_, err = io.WriteString(b.out, string(told)+"\n")
			}
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// ownAnswer says whether an answer is to what the bridge asked by itself.
func ownAnswer(id json.RawMessage) bool { return strings.HasPrefix(string(id), `"`+subscribeAgain) }
