package restore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// ID names what the plan would do, and to which contents. Plans of the same steps have the same ID.
func (p *Plan) ID() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", p.Target)
	for _, s := range p.Steps {
		fmt.Fprintf(h, "%s %q", s.Kind, s.Path)
		if b := s.Before; b != nil {
			fmt.Fprintf(h, " %d %o %d %x %q", b.Kind, b.Mode, b.Size, b.Content, b.Target)
		}
		fmt.Fprintln(h)
	}
	for _, problem := range p.Problems {
		fmt.Fprintf(h, "! %q\n", problem.Path)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
