package httpapi

import (
	"cmp"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

func (s TellingHandlers) listRoutes(*request) (reply, error) {
	return show(mapped(s.Telling.Now().Routes, wireRoute))
}

func wireRoute(r fleet.Route) api.Route {
	return api.Route{ProblemMatch: wireMatch(r.Match), Name: r.Name, Channels: append([]string{}, r.Channels...),
		GroupBy: r.GroupBy, RepeatS: int64(r.Repeat / time.Second), QuietFrom: r.QuietFrom, QuietTo: r.QuietTo,
		SetBy: r.By, SetAt: api.Time{Time: r.At}}
}

func wireMatch(m fleet.Match) api.ProblemMatch {
	return api.ProblemMatch{Tags: words(m.Tags), Kinds: words(m.Kinds), Severities: words(m.Severities),
		Folders: words(m.Folders), Devices: words(m.Devices)}
}

// words returns the texts of a list, which is never null.
func words[T ~string](all []T) []string {
	out := []string{}
	for _, one := range all {
		out = append(out, string(one))
	}
	return out
}

func matchFrom(body api.PutProblemMatch) (m fleet.Match, err error) {
	var wrongTag, wrongDevice error
	m.Tags, wrongTag = each(or(body.Tags, nil), "tags", fleet.ParseTag)
	m.Devices, wrongDevice = each(or(body.Devices, nil), "devices", fleet.ParseDeviceID)
	m.Folders = or(body.Folders, nil)
	for _, kind := range or(body.Kinds, nil) {
		m.Kinds = append(m.Kinds, fleet.ProblemKind(kind))
	}
	for _, severity := range or(body.Severities, nil) {
		m.Severities = append(m.Severities, fleet.Severity(severity))
	}
	return m, cmp.Or(wrongTag, wrongDevice)
}

func (s TellingHandlers) putRoute(r *request) (reply, error) {
	body, err := decode[api.PutRoute](r, "channels")
	if err != nil {
		return reply{}, err
	}
	wanted := fleet.Route{Name: r.segment("route"), Channels: *body.Channels, GroupBy: or(body.GroupBy, ""),
		QuietFrom: or(body.QuietFrom, ""), QuietTo: or(body.QuietTo, "")}
	if wanted.Match, err = matchFrom(body.PutProblemMatch); err != nil {
		return reply{}, err
	}
	if or(body.RepeatS, 0) != 0 {
		if wanted.Repeat, err = seconds("repeatS", body.RepeatS); err != nil {
			return reply{}, err
		}
	}
	stored, created, err := s.Telling.PutRoute(r.Context(), wanted)
	if err != nil {
		return reply{}, err
	}
	return showCreated(wireRoute(stored), created, Prefix+"/routes/"+stored.Name)
}

func (s TellingHandlers) deleteRoute(r *request) (reply, error) {
	name := r.segment("route")
	return nothing(orNotFound(s.Telling.DeleteRoute(r.Context(), name),
		notThere(fleet.SeeRoutes, "GET "+Prefix+"/routes lists all.", "there is no route %q", name)))
}

func (s TellingHandlers) listSilences(*request) (reply, error) {
	return show(mapped(s.Telling.Now().Silences, wireSilence))
}

func wireSilence(s fleet.Silence) api.Silence {
	return api.Silence{ProblemMatch: wireMatch(s.Match), ID: s.ID, Until: api.Time{Time: s.Until}, Reason: s.Reason,
		CreatedBy: s.By, CreatedAt: api.Time{Time: s.At}}
}

func (s TellingHandlers) createSilence(r *request) (reply, error) {
	body, err := decode[api.CreateSilence](r, "until")
	if err != nil {
		return reply{}, err
	}
	wanted := fleet.Silence{Until: body.Until.Time, Reason: or(body.Reason, "")}
	if wanted.Match, err = matchFrom(body.PutProblemMatch); err != nil {
		return reply{}, err
	}
	made, err := s.Telling.AddSilence(r.Context(), wanted)
	if err != nil {
		return reply{}, err
	}
	return showCreated(wireSilence(made), true, Prefix+"/silences/"+made.ID)
}

func (s TellingHandlers) endSilence(r *request) (reply, error) {
	id := r.segment("silence")
	return nothing(orNotFound(s.Telling.EndSilence(r.Context(), id),
		notThere(fleet.SeeSilences, "GET "+Prefix+"/silences lists all.", "there is no silence %q", id)))
}
