package restore

// Observe sets what is called before each change to the workspace.
func (p *Plan) Observe(observe func(path string)) { p.observe = observe }
