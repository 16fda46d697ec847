package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// folderOrder has daemons do something with one folder.
type folderOrder struct {
	connection
	ordering
	Folder string `arg:"" help:"ID of the folder, or its label where no other folder has that."`
	Device string `env:"-" help:"Only on this device: its label or ID, or the first letters of its ID." placeholder:"DEVICE"`
	picking
	spec client.OrderSpec
}

// folderVerb is what an order does with a folder: on which devices it has an effect, and what is told before.
type folderVerb struct {
	concerns func(api.FolderStanding) bool
	nothing  string                          // text where no device is concerned
	effect   func(api.FolderStanding) string // text about one device
	// items is the number of items that change on one device; nil: the order changes no files.
	items    func(api.FolderStanding) int64
	question func(folder string, devices int) string
}

var folderOrders = map[client.OrderType]folderVerb{
	client.OrderPause: {
		concerns: func(f api.FolderStanding) bool { return !f.Paused },
		nothing:  "it is paused there already",
		effect:   func(api.FolderStanding) string { return "nothing of it is scanned or synced there any more" },
		question: func(folder string, of int) string {
			return fmt.Sprintf("Pause the folder %q on %s?", folder, counted(of, "device"))
		},
	},
	client.OrderResume: {
		concerns: func(f api.FolderStanding) bool { return f.Paused },
		nothing:  "it is not paused there",
		effect:   func(api.FolderStanding) string { return "it is scanned and synced again" },
		question: func(folder string, of int) string {
			return fmt.Sprintf("Resume the folder %q on %s?", folder, counted(of, "device"))
		},
	},
	client.OrderRescan: {
		concerns: func(f api.FolderStanding) bool { return !f.Paused },
		nothing:  "it is paused there",
		effect:   func(api.FolderStanding) string { return "it is compared with the disk" },
		question: func(folder string, of int) string {
			return fmt.Sprintf("Rescan the folder %q on %s?", folder, counted(of, "device"))
		},
	},
	client.OrderOverride: {
		concerns: func(f api.FolderStanding) bool { return f.Type == "sendonly" && !f.Paused },
		nothing:  "override is for a folder that is send-only there, and not paused",
		effect: func(f api.FolderStanding) string {
			return fmt.Sprintf("overwrites, or takes away, %s that were changed elsewhere, on %s", counted(int(overridden(f)),
				"item"), counted(f.Peers.Shared, "other device"))
		},
		items: overridden,
		question: func(folder string, _ int) string {
			return fmt.Sprintf("Override the folder %q? There is no way back.", folder)
		},
	},
	client.OrderRevert: {
		concerns: func(f api.FolderStanding) bool {
			return (f.Type == "receiveonly" || f.Type == "receiveencrypted") && !f.Paused
		},
		nothing: "revert is for a folder that is receive-only there, and not paused",
		effect: func(f api.FolderStanding) string {
			return fmt.Sprintf("undoes what was done to %s on this device; what was added is deleted",
				counted(int(f.LocalItems), "item"))
		},
		items: func(f api.FolderStanding) int64 { return f.LocalItems },
		question: func(folder string, of int) string {
			return fmt.Sprintf("Revert the folder %q on %s? There is no way back.", folder, counted(of, "device"))
		},
	},
}

// overridden is how many items of the others an override replaces.
func overridden(f api.FolderStanding) int64 { return f.NeedItems + f.NeedDeletes }

// Run shows what the order does on which devices, asks, and gives it to these alone.
func (c *folderOrder) Run(ctx context.Context, env *environment, server *client.Client) error {
	var err error
	if c.Folder, err = folderNamed(ctx, server, c.Folder); err != nil {
		return err
	}
	verb := folderOrders[c.spec.Type]
	concerned, err := c.concerned(ctx, server, verb)
	if err != nil {
		return err
	}
	label := labels(ctx, server)
	var ids, names []string
	for i, f := range concerned {
		ids, names = append(ids, f.DeviceID), append(names, nameOf(f.DeviceID, label(fleet.DeviceID(f.DeviceID))))
		fmt.Fprintf(c.texts(env), "  %s: %s\n", names[i], verb.effect(f))
	}
	question := ""
	if asks[c.spec.Type] != "" || verb.items != nil || c.Device == "" {
		question = verb.question(printable(c.Folder), len(concerned))
	}
	c.spec.Folder = c.Folder
	if verb.items == nil {
		return c.begin(ctx, env, server, question, func() (api.Order, error) {
			return server.OrderToDevices(ctx, ids, c.spec)
		})
	}
	// An order agrees to the number that was shown, and to no more.
	give := func(f api.FolderStanding) (api.Order, error) {
		c.spec.MaxItems = verb.items(f)
		return server.OrderToDevices(ctx, []string{f.DeviceID}, c.spec)
	}
	if len(concerned) == 1 {
		return c.begin(ctx, env, server, question, func() (api.Order, error) { return give(concerned[0]) })
	}
	if c.NoWait {
		return &fleet.Error{Code: fleet.CodeInvalid, Hint: "Leave --no-wait out, or name one device with --device.",
			Message: fmt.Sprintf("--no-wait is for one device, and the order is for %d, one after the other", len(concerned))}
	}
	if !c.Yes {
		if err := confirm(env, question); err != nil {
			return err
		}
	}
	return c.each(ctx, env, server, names, func(i int) (api.Order, error) { return give(concerned[i]) })
}

// each gives each device an order of its own, once that of the one before has ended. It ends at the first that fails,
// and names those that were not told.
func (c *folderOrder) each(ctx context.Context, env *environment, server *client.Client, names []string,
	give func(int) (api.Order, error)) (ended error) {
	orders, ids := []api.Order{}, []string{}
	for i, name := range names {
		order, err := give(i)
		if err == nil {
			order, err = c.await(ctx, env, server, order)
			orders, ids = append(orders, order), append(ids, strconv.FormatInt(order.ID, 10))
		}
		if err == nil && order.Status != string(fleet.OrderDone) {
			err = failed(printable(order.Reason))
		}
		if err != nil {
			ended = endedAt(env, name, names[i+1:], err)
			break
		}
		if c.forPeople() {
			fmt.Fprintf(env.Out, "%s: %s.\n", name, printable(order.Reason))
		}
	}
	if !c.forPeople() {
		if err := c.print(env, orders, ids...); err != nil {
			return err
		}
	}
	return ended
}

// endedAt is why orders to several devices ended at one of them, with those that were not told. An interrupted command
// has no text of its own, so that its text is printed here.
func endedAt(env *environment, device string, left []string, err error) error {
	text := "all devices before it were told"
	if len(left) > 0 {
		text = "not told: " + strings.Join(left, ", ")
	}
	if !needsText(err) {
		fmt.Fprintf(env.Err, "Interrupted at %s; %s.\n", device, text)
		return err
	}
	return failure{&fleet.Error{Code: fleet.CodeOf(err), Hint: "Look at the folder there, and give the order anew.",
		Message: fmt.Sprintf("ended at %s: %s; %s", device, strings.TrimSuffix(fleet.Reason(err), "."), text)}, codeFor(err)}
}

// concerned are the devices on which the order has an effect, as their daemons told last.
func (c *folderOrder) concerned(ctx context.Context, server *client.Client, verb folderVerb) ([]api.FolderStanding,
	error) {
	if c.Device != "" && c.isUsed() {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "a device is named, and devices are picked as well",
			Hint: "Give --device, or --tag and --filter."}
	}
	all, err := server.FolderDevices(ctx, c.Folder, client.List{})
	if err != nil {
		return nil, err
	}
	if c.Device != "" || c.isUsed() {
		those, err := c.those(ctx, server)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(f api.FolderStanding) bool { return !slices.Contains(those, f.DeviceID) })
	}
	if len(all) == 0 {
		return nil, &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("no such device has the folder %q", c.Folder),
			Hint: "`muster folder get " + quoted(c.Folder) + "` lists those that have it."}
	}
	all = slices.DeleteFunc(all, func(f api.FolderStanding) bool { return !verb.concerns(f) })
	if len(all) == 0 {
		return nil, &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("nothing is ordered for the folder %q: %s", c.Folder, verb.nothing),
			Hint:    "`muster folder get " + quoted(c.Folder) + "` shows it on each device."}
	}
	if verb.items == nil {
		return all, nil
	}
	return c.changing(all, verb)
}

// those are the IDs of the devices that flags name or pick.
func (c *folderOrder) those(ctx context.Context, server *client.Client) ([]string, error) {
	if c.Device != "" {
		device, err := deviceNamed(ctx, server, c.Device)
		return []string{device.DeviceID}, err
	}
	devices, err := c.picked(ctx, server)
	return idsOf(devices), err
}

// changing are the devices on which files change. Only figures of now are believed.
func (c *folderOrder) changing(all []api.FolderStanding, verb folderVerb) ([]api.FolderStanding, error) {
	all = slices.DeleteFunc(all, func(f api.FolderStanding) bool {
		return verb.items(f) == 0 || f.State == fleet.FolderUnknown.String()
	})
	switch {
	case len(all) == 0:
		return nil, &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("nothing of the folder %q differs on a device that is online", c.Folder),
			Hint:    "`muster folder get " + quoted(c.Folder) + "` shows it on each device."}
	case c.spec.Type == client.OrderOverride && len(all) > 1:
		return nil, &fleet.Error{Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("%s could override the folder %q", counted(len(all), "device"), c.Folder),
			Hint:    "Name the one whose files are right with --device."}
	}
	return all, nil
}
