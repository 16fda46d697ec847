package httpapi

import (
	"context"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// These are what handlers write with, each change judged against the assertions that sources keep.

type keptDevices struct {
	Devices
	k keeper
}

func (d keptDevices) PutPinnedDevice(ctx context.Context, device fleet.Device, pin string,
	check func(*fleet.Device) error) (stored fleet.Device, created bool, err error) {
	err = d.k.judged(ctx, func(now *fleet.Registry) (*fleet.Registry, error) {
		put := fleet.Registered{Tags: []fleet.Tag{}}
		if is := now.Devices[device.ID]; is != nil {
			put = *is
		}
		put.Device = device
		return now.With(&put), nil
	}, func(ctx context.Context) error {
		stored, created, err = d.Devices.PutPinnedDevice(ctx, device, pin, check)
		return err
	})
	return stored, created, err
}

func (d keptDevices) DeleteDevice(ctx context.Context, id fleet.DeviceID, check func(*fleet.Device) error) error {
	return d.k.judged(ctx, func(now *fleet.Registry) (*fleet.Registry, error) { return now.Without(id), nil },
		func(ctx context.Context) error { return d.Devices.DeleteDevice(ctx, id, check) })
}

func (d keptDevices) TagDevice(ctx context.Context, id fleet.DeviceID, tag fleet.Tag,
	check func(*[]fleet.Tag) error) (tags []fleet.Tag, err error) {
	edit := fleet.Edit{Tag: []fleet.Tagging{{Tag: tag, Device: id}}}
	err = d.k.edited(ctx, edit, func(ctx context.Context) error {
		tags, err = d.Devices.TagDevice(ctx, id, tag, check)
		return err
	})
	return tags, err
}

func (d keptDevices) UntagDevice(ctx context.Context, id fleet.DeviceID, tag fleet.Tag,
	check func(*[]fleet.Tag) error) (tags []fleet.Tag, err error) {
	edit := fleet.Edit{Untag: []fleet.Tagging{{Tag: tag, Device: id}}}
	err = d.k.edited(ctx, edit, func(ctx context.Context) error {
		tags, err = d.Devices.UntagDevice(ctx, id, tag, check)
		return err
	})
	return tags, err
}

// keptTemplates judges no new template: without a tag it applies to nothing.
type keptTemplates struct {
	Templates
	k keeper
}

func (t keptTemplates) PutTemplate(ctx context.Context, template fleet.Template,
	check func(*fleet.Template) error) (stored fleet.Template, err error) {
	edit := fleet.Edit{Changed: []fleet.Template{template}}.SavedBy(fleet.ActorOf(ctx), fleet.RoleOf(ctx))
	err = t.k.edited(ctx, edit, func(ctx context.Context) error {
		stored, err = t.Templates.PutTemplate(ctx, template, check)
		return err
	})
	return stored, err
}

func (t keptTemplates) DeleteTemplate(ctx context.Context, id int64, check func(*fleet.Template) error) error {
	return t.k.edited(ctx, fleet.Edit{Deleted: []int64{id}}, func(ctx context.Context) error {
		return t.Templates.DeleteTemplate(ctx, id, check)
	})
}

func (t keptTemplates) TagTemplate(ctx context.Context, id int64, tag fleet.Tag,
	check func(*[]fleet.Tag) error) (tags []fleet.Tag, err error) {
	edit := fleet.Edit{Tag: []fleet.Tagging{{Tag: tag, Template: id}}}
	err = t.k.edited(ctx, edit, func(ctx context.Context) error {
		tags, err = t.Templates.TagTemplate(ctx, id, tag, check)
		return err
	})
	return tags, err
}

func (t keptTemplates) UntagTemplate(ctx context.Context, id int64, tag fleet.Tag,
	check func(*[]fleet.Tag) error) (tags []fleet.Tag, err error) {
	edit := fleet.Edit{Untag: []fleet.Tagging{{Tag: tag, Template: id}}}
	err = t.k.edited(ctx, edit, func(ctx context.Context) error {
		tags, err = t.Templates.UntagTemplate(ctx, id, tag, check)
		return err
	})
	return tags, err
}

type keptTags struct {
	Tags
	k keeper
}

func (t keptTags) DeleteTag(ctx context.Context, tag fleet.Tag, check func(*[]fleet.Tag) error) (left []fleet.Tag,
	err error) {
	err = t.k.judged(ctx, func(now *fleet.Registry) (*fleet.Registry, error) {
		var edit fleet.Edit
		for _, id := range slices.Sorted(maps.Keys(now.Devices)) {
			if slices.Contains(now.Devices[id].Tags, tag) {
				edit.Untag = append(edit.Untag, fleet.Tagging{Tag: tag, Device: id})
			}
		}
		for _, template := range now.Templates {
			if slices.Contains(template.Tags, tag) {
				edit.Untag = append(edit.Untag, fleet.Tagging{Tag: tag, Template: template.ID})
			}
		}
		next, _, err := now.Edited(edit)
		return next, err
	}, func(ctx context.Context) error {
		left, err = t.Tags.DeleteTag(ctx, tag, check)
		return err
	})
	return left, err
}

type keptVars struct {
	Vars
	k keeper
}

func (v keptVars) PutVars(ctx context.Context, of fleet.VarsOwner, vars fleet.Vars, check func(*fleet.Vars) error) (
	stored fleet.Vars, err error) {
	edit := fleet.Edit{Vars: []fleet.VarsChange{{VarsOwner: of, SavedVars: fleet.SavedVars{Vars: vars}}}}
	err = v.k.edited(ctx, edit, func(ctx context.Context) error {
		stored, err = v.Vars.PutVars(ctx, of, vars, check)
		return err
	})
	return stored, err
}

type keptEdits struct {
	Edits
	k keeper
}

func (e keptEdits) ApplyEdit(ctx context.Context, edit fleet.Edit, based int64) (done fleet.Applied, err error) {
	saved := edit.SavedBy(fleet.ActorOf(ctx), fleet.RoleOf(ctx))
	err = e.k.edited(ctx, saved, func(ctx context.Context) error {
		done, err = e.Edits.ApplyEdit(ctx, edit, based)
		return err
	})
	return done, err
}

func (e keptEdits) ApplyAdjustment(ctx context.Context, a fleet.Adjustment, based int64) (done fleet.Applied,
	err error) {
	err = e.k.judged(ctx, func(now *fleet.Registry) (*fleet.Registry, error) {
		next, _, err := now.Adjusted(a)
		return next, err
	}, func(ctx context.Context) error {
		done, err = e.Edits.ApplyAdjustment(ctx, a, based)
		return err
	})
	return done, err
}
