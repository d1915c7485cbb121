package terminal

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/recording"
)

const (
	// maxWatched bounds the output in bytes in which the address of a server is looked for. Of it, maxTail are kept.
	maxWatched = 256 << 10
	maxTail    = 4 << 10
)

// address is what a server on this machine prints once it answers. What follows the port shows that it is whole.
var address = lazyregexp.New(`https?://(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{2,5})[^\d]`)

// servers notices when the server answers that a command started: it prints its address then.
type servers struct {
	// serves is [Options].Serves, ready is [Options].Ready. Both may be nil.
	serves func(command string) (serves, behind bool)
	ready  func(c recording.Command, address string)
	// command is the one that is watched, nil for none. Behind means that the shell goes on meanwhile.
	command *recording.Command
	behind  bool
	left    int
	tail    []byte
}

// began takes a command that begins, with what is shown of it where its text is not known.
func (s *servers) began(c recording.Command, echo []byte) {
	if s.serves == nil {
		return
	}
	if c.Text != "" {
		s.watch(c)
		return
	}
	text, _, _ := plain([]*item{{data: echo}})
	words := strings.Fields(text[strings.LastIndexByte(strings.TrimRight(text, "\r\n"), '\n')+1:])
	for i := range words { // the first ones are the prompt
		c.Text = strings.Join(words[i:], " ")
		if s.watch(c) {
			return
		}
	}
}

// watch begins to watch a command that starts a server.
func (s *servers) watch(c recording.Command) bool {
	serves, behind := s.serves(c.Text)
	if serves {
		s.command, s.behind, s.left, s.tail = &c, behind, maxWatched, nil
	}
	return serves
}

// ended takes a command that ended, whose text may be known only now. Its server runs on if it is behind the shell.
func (s *servers) ended(c recording.Command) {
	watched := s.command != nil && s.command.Offset == c.Offset
	switch {
	case s.serves == nil:
	case watched && !s.behind:
		s.command = nil
	case !watched && c.Text != "":
		if _, behind := s.serves(c.Text); behind {
			s.watch(c)
		}
	}
}

// shown takes output.
func (s *servers) shown(data []byte) {
	if s.command == nil {
		return
	}
	data = data[:min(len(data), s.left)]
	s.left -= len(data)
	s.tail = append(s.tail, data...)
	text, _, _ := plain([]*item{{data: s.tail}})
	if m := address().FindStringSubmatch(text); m != nil {
		host := m[1]
		switch host {
		case "0.0.0.0":
			host = "127.0.0.1"
		case "[::]":
			host = "[::1]"
		}
		s.ready(*s.command, host+":"+m[2])
		s.command = nil
		return
	}
	if s.left == 0 {
		s.command = nil
	}
	if over := len(s.tail) - maxTail; over > 0 {
		s.tail = append([]byte{}, s.tail[over:]...)
	}
}
