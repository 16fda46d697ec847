package store

import (
	"context"

	"muster/internal/engine/change"
	"muster/internal/fleet"
)

// These make edits of one thing in the way that everybody makes edits, as tests of this room need them.

func (s *Store) apply(ctx context.Context, edit fleet.Edit, check func(fleet.Found) error) (fleet.Applied, error) {
	return change.New(change.Options{Store: s}).Apply(ctx, edit, fleet.Basis{Check: check})
}

// asked gives a condition the part of what was found that it is about.
func asked[T any](check func(T) error, part func(fleet.Found) T) func(fleet.Found) error {
	if check == nil {
		return nil
	}
	return func(found fleet.Found) error { return check(part(found)) }
}

func deviceOf(found fleet.Found) *fleet.Device     { return found.Device }
func templateOf(found fleet.Found) *fleet.Template { return found.Template }
func tagsOf(found fleet.Found) *[]fleet.Tag        { return &found.Tags }
func varsOf(found fleet.Found) *fleet.Vars         { return &found.Vars }

func (s *Store) PutDevice(ctx context.Context, device fleet.Device,
	check func(*fleet.Device) error) (fleet.Device, bool, error) {
	return s.PutPinnedDevice(ctx, device, "", check)
}

func (s *Store) PutPinnedDevice(ctx context.Context, device fleet.Device, pin string,
	check func(*fleet.Device) error) (fleet.Device, bool, error) {
	edit := fleet.Edit{Put: []fleet.DevicePut{{Device: device, Pin: pin}}}
	done, err := s.ApplyEdit(ctx, edit, fleet.Basis{Check: asked(check, deviceOf)}) // no step is about it
	return done.Device, done.Created, err
}

func (s *Store) DeleteDevice(ctx context.Context, id fleet.DeviceID, check func(*fleet.Device) error) error {
	_, err := s.apply(ctx, fleet.Edit{Remove: []fleet.DeviceID{id}}, asked(check, deviceOf))
	return err
}

func (s *Store) EnrollDevice(ctx context.Context, e fleet.Enrollment) (fleet.Device, error) {
	keys, err := s.EnrollKeys(ctx)
	if err != nil {
		return fleet.Device{}, err
	}
	for _, key := range keys {
		if key.Hash == e.KeyHash {
			e.Tags = key.Tags
		}
	}
	done, err := s.apply(ctx, fleet.Edit{Enroll: &e}, nil)
	return done.Device, err
}

func (s *Store) TagDevice(ctx context.Context, id fleet.DeviceID, tag fleet.Tag,
	check func(*[]fleet.Tag) error) ([]fleet.Tag, error) {
	done, err := s.apply(ctx, fleet.Edit{Tag: []fleet.Tagging{{Tag: tag, Device: id}}}, asked(check, tagsOf))
	return done.Tags, err
}

func (s *Store) UntagDevice(ctx context.Context, id fleet.DeviceID, tag fleet.Tag,
	check func(*[]fleet.Tag) error) ([]fleet.Tag, error) {
	done, err := s.apply(ctx, fleet.Edit{Untag: []fleet.Tagging{{Tag: tag, Device: id}}}, asked(check, tagsOf))
	return done.Tags, err
}

func (s *Store) TagTemplate(ctx context.Context, id int64, tag fleet.Tag,
	check func(*[]fleet.Tag) error) ([]fleet.Tag, error) {
	done, err := s.apply(ctx, fleet.Edit{Tag: []fleet.Tagging{{Tag: tag, Template: id}}}, asked(check, tagsOf))
	return done.Tags, err
}

func (s *Store) UntagTemplate(ctx context.Context, id int64, tag fleet.Tag,
	check func(*[]fleet.Tag) error) ([]fleet.Tag, error) {
	done, err := s.apply(ctx, fleet.Edit{Untag: []fleet.Tagging{{Tag: tag, Template: id}}}, asked(check, tagsOf))
	return done.Tags, err
}

func (s *Store) DeleteTag(ctx context.Context, tag fleet.Tag, check func(*[]fleet.Tag) error) ([]fleet.Tag, error) {
	done, err := s.apply(ctx, fleet.Edit{Drop: []fleet.Tag{tag}}, asked(check, tagsOf))
	return done.Tags, err
}

func (s *Store) CreateTemplate(ctx context.Context, template fleet.Template) (fleet.Template, error) {
	done, err := s.apply(ctx, fleet.Edit{New: []fleet.TaggedTemplate{{Template: template}}}, nil)
	return append(done.New, fleet.Template{})[0], err
}

func (s *Store) PutTemplate(ctx context.Context, template fleet.Template,
	check func(*fleet.Template) error) (fleet.Template, error) {
	done, err := s.apply(ctx, fleet.Edit{Changed: []fleet.Template{template}}, asked(check, templateOf))
	return append(done.Changed, fleet.Template{})[0], err
}

func (s *Store) DeleteTemplate(ctx context.Context, id int64, check func(*fleet.Template) error) error {
	_, err := s.apply(ctx, fleet.Edit{Deleted: []int64{id}}, asked(check, templateOf))
	return err
}

func (s *Store) PutVars(ctx context.Context, of fleet.VarsOwner, vars fleet.Vars,
	check func(*fleet.Vars) error) (fleet.Vars, error) {
	saved := fleet.VarsChange{VarsOwner: of, SavedVars: fleet.SavedVars{Vars: vars}}
	_, err := s.apply(ctx, fleet.Edit{Vars: []fleet.VarsChange{saved}}, asked(check, varsOf))
	return vars, err
}

// applyBased makes an edit of files, or of several things, that was compared with a generation.
func (s *Store) applyBased(ctx context.Context, edit fleet.Edit, based int64) (fleet.Applied, error) {
	return change.New(change.Options{Store: s}).Apply(ctx, edit, fleet.Basis{Generation: &based})
}

func (s *Store) ForgetSource(ctx context.Context, name string) error {
	_, err := s.apply(ctx, fleet.Edit{Forget: name}, nil)
	return err
}

func (s *Store) UndonePreview(ctx context.Context, r fleet.Rollout) (*fleet.Registry, error) {
	edit := fleet.Edit{Undo: &fleet.Undo{Rollout: r}}
	done, err := change.New(change.Options{Store: s}).Apply(ctx, edit, fleet.Basis{Trial: true})
	if err != nil {
		return nil, err
	}
	return done.Then, nil
}

func (s *Store) UndoRollout(ctx context.Context, r fleet.Rollout, w fleet.RolloutWrite) ([]int64, error) {
	then, err := s.UndonePreview(ctx, r)
	if err != nil {
		return nil, err
	}
	if w.Settled.Generation == then.Generation {
		w.Settled = then
	}
	done, err := s.apply(ctx, fleet.Edit{Undo: &fleet.Undo{Rollout: r, Write: w}}, nil)
	return done.Rollouts, err
}
