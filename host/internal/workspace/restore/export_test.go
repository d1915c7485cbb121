package restore

// Observe sets what is called before each change to the workspace.
func (p *Plan) Observe(observe func(path string)) { p.observe = observe }

// Finishing sets what is called before each removal from the staging directory.
func Finishing(call func()) { finishing = call }
