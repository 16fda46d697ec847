package stconfig

// Refit gives a document the fields that another document of the same daemon has now: fields that its version took
// away are left out, and those that came are as they are there. Documents that were kept (a base, a revision) are of
// the version that the daemon had then. Members of lists and entries of free maps stay as they are; a member that is
// not there now gets the fields of `defaults`.
func Refit(doc, now Value) Value { return refit(doc, now, configuration, now.Get("defaults")) }

// Restorable is an earlier document of a daemon as it would be now: migrated to the present version, with its fields,
// and with what the daemon forces.
func Restorable(earlier, now Value) Value {
	return Kept(Refit(Migrate(earlier, versionOf(now)), now))
}

func refit(v, like Value, s *shape, defaults Value) Value {
	s = fit(s, like)
	switch {
	case s == nil || s.isFree() || v == like || v.kind != like.kind:
		return v
	case v.kind == Object:
		return refitObject(v, like, s, defaults)
	case v.kind == Array && s.identified():
		return refitMembers(v, like, s, defaults)
	}
	return v
}

func refitObject(v, like Value, s *shape, defaults Value) Value {
	for i := v.Len() - 1; i >= 0; i-- {
		name := v.kids.names[i]
		if now := like.Get(name); now.Exists() {
			v = v.withAt(i, refit(v.At(i), now, s.below(name), defaults))
		} else if fold(name) != "ignores" { // Muster's own section
			v = v.withoutAt(i)
		}
	}
	for name, now := range like.Members() {
		if !v.Get(name).Exists() {
			v = v.With(name, now)
		}
	}
	return v
}

func refitMembers(list, like Value, s *shape, defaults Value) Value {
	now := make(map[string]Value, like.Len())
	for member := range like.Values() {
		now[s.identityOf(member)] = member
	}
	values := replacing{of: list.kids.values}
	for i, member := range list.kids.values {
		model, there := now[s.identityOf(member)]
		if !there {
			model = defaults.Get(s.defaults)
		}
		if model.kind == Object {
			values.set(i, refit(member, model, s.entry, defaults))
		}
	}
	return list.withValues(values.of)
}
