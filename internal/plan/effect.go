package plan

// Without are the changes that are not among the others.
func Without(changes, others []Change) []Change {
	type fate struct {
		class  Class
		digest string
	}
	have := map[string]fate{}
	for _, c := range others {
		have[c.Key.String()] = fate{c.Class, c.Digest()}
	}
	var left []Change
	for _, c := range changes {
		if f, ok := have[c.Key.String()]; !ok || f != (fate{c.Class, c.Digest()}) {
			left = append(left, c)
		}
	}
	return left
}
