package cli

// asking is how a command asks before it takes something away.
type asking struct {
	Yes bool `short:"y" env:"-" help:"Do not ask."`
}

// consented is an error unless --yes was given, or the person answers yes.
func (a asking) consented(env *environment, question string) error {
	if a.Yes {
		return nil
	}
	return confirm(env, question)
}
