package tracked

// Cloned has a function called between cloning a file of the workspace and looking at its stat again.
func Cloned(f func(path string)) { cloned = f }

// Leave stores contents that no snapshot has.
func Leave(p *Provider, contents ...[]byte) error {
	for _, c := range contents {
		if _, err := p.objects.Put(c); err != nil {
			return err
		}
	}
	return nil
}
