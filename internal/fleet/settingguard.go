package fleet

import "slices"

// CheckFourEyes refuses a change of a setting that would let one administrator do alone what needs two: while four eyes
// are asked for, neither they nor the approval threshold become looser, nor the rules by which devices register
// themselves. Waves and times of rollouts are not covered: who may apply gives each rollout other waves. Somebody on
// the server's machine can still start it with the flag.
func CheckFourEyes(now map[SettingName]SettingState, name SettingName, value string) error {
	if !now[SettingFourEyes].On() || !loosens(now[name], value) {
		return nil
	}
	return &Error{Code: CodeForbidden,
		Message: "four eyes are asked for, so one administrator alone may not loosen that",
		Hint: "On the server's machine, start it with --" + settingNamed(name).Flag + " and the value; the flag overrides " +
			"what is stored."}
}

// loosens reports whether a value of a guard allows more than the present one.
func loosens(now SettingState, value string) bool {
	next := SettingState{Value: value}
	switch now.Name {
	case SettingFourEyes:
		return now.On() && !next.On()
	case SettingApproval:
		return now.Threshold().isStricterThan(next.Threshold())
	case SettingEnrollByKey:
		return !now.On() && next.On()
	case SettingEnrollKeyLife:
		return next.Duration() > now.Duration()
	case SettingEnrollKeyUses:
		return next.Number() > now.Number()
	case SettingEnrollKeyTags:
		return now.Value != "" && (value == "" || !containsAll(now.List(), next.List()))
	}
	return false
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// Tags returns the value of a setting that is a list of tags.
func (s SettingState) Tags() (tags []Tag) {
	for _, tag := range s.List() {
		tags = append(tags, Tag(tag))
	}
	return tags
}
