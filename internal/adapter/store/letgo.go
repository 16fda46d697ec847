package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"muster/internal/fleet"
)

// past is one change in the history of a template, of a template's tags or of a device's tags.
type past struct {
	generation int64
	tag        string // "" for a change of the template itself
	ofDevice   bool
	there      bool // The tag or template is present from this generation on.
}

// LetGoBy returns the role of the person whose change made a template stop applying to a device: that person deleted
// the template, or removed the last tag that template and device shared. at is a generation; later changes do not
// count. LetGoBy returns "" if the template still applies, or if the role is not known, for example because a row is
// not believed.
func (s *Store) LetGoBy(ctx context.Context, device fleet.DeviceID, template, at int64) (fleet.Role, error) {
	var all []past
	for _, from := range []struct {
		table    *markedTable
		query    string
		of       any
		ofDevice bool
	}{
		{templateHistoryRows, `SELECT generation, '', NOT deleted, %s FROM template_history WHERE template_id = $1`,
			template, false},
		{templateTagHistoryRows, `SELECT generation, tag, carried, %s FROM template_tag_history WHERE template_id = $1`,
			template, false},
		{deviceTagHistoryRows, `SELECT generation, tag, carried, %s FROM device_tag_history WHERE device_id = $1`,
			string(device), true},
	} {
		found, err := collect(ctx, pool{s.reads}, believing(s, from.table, func(row scanner) (past, error) {
			p := past{ofDevice: from.ofDevice}
			return p, row.Scan(&p.generation, &p.tag, &p.there)
		}), fmt.Sprintf(from.query, from.table.columns("")), from.of)
		if err != nil {
			return "", failure("read history", err)
		}
		believed := onlyBelieved(found)
		if len(believed) < len(found) {
			return "", nil
		}
		all = append(all, believed...)
	}
	all = slices.DeleteFunc(all, func(p past) bool { return p.generation > at })
	generation := lastLetGo(all)
	if generation == 0 {
		return "", nil
	}
	roles, err := collect(ctx, pool{s.reads}, believing(s, generationRows, func(row scanner) (role fleet.Role, err error) {
		return role, row.Scan((*string)(&role))
	}), `SELECT made_role, `+generationRows.columns("")+` FROM generations WHERE number = $1`, generation)
	if believed := onlyBelieved(roles); err == nil && len(believed) == 1 {
		return believed[0], nil
	}
	return "", failure("read generations", err)
}

// lastLetGo returns the generation with which the template last stopped applying to the device; 0 if it applies now or
// never did. all are the changes of the template, of its tags and of the device's tags.
func lastLetGo(all []past) (ended int64) {
	slices.SortStableFunc(all, func(a, b past) int { return cmp.Compare(a.generation, b.generation) })
	template, tags, devices := false, map[string]bool{}, map[string]bool{}
	applied := false
	for i, p := range all {
		switch {
		case p.tag == "":
			template = p.there
		case p.ofDevice:
			devices[p.tag] = p.there
		default:
			tags[p.tag] = p.there
		}
		if i+1 < len(all) && all[i+1].generation == p.generation {
			continue
		}
		applies := false
		for tag, carried := range tags {
			applies = applies || template && carried && devices[tag]
		}
		switch {
		case applied && !applies:
			ended = p.generation
		case applies:
			ended = 0
		}
		applied = applies
	}
	return ended
}
