package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// ordering is how a command gives daemons an order.
type ordering struct {
	output
	messaging
	Yes    bool `short:"y" env:"-" help:"Do not ask."`
	NoWait bool `name:"no-wait" env:"-" help:"Do not wait until it is done; muster order show follows."`
}

// asks are the questions before what interrupts a daemon's work; the others need none.
var asks = map[client.OrderType]string{
	client.OrderRestart: "Restart the Syncthing of %s?",
	client.OrderPause:   "Pause all connections of %s?",
	client.OrderUpgrade: "Have %s install the newest Syncthing, and restart?",
}

// asksOfPicked are the questions about orders that need one only where the person did not type the devices.
var asksOfPicked = map[client.OrderType]string{
	client.OrderRescan: "Rescan the folders of %s?",
	client.OrderResume: "Resume all connections of %s?",
}

// questionOf is the question about an order, "" if it needs none.
func questionOf(questions map[client.OrderType]string, order client.OrderType, whom string) string {
	if questions[order] == "" {
		return ""
	}
	return fmt.Sprintf(questions[order], whom)
}

// begin asks, gives the order and follows it.
func (c ordering) begin(ctx context.Context, env *environment, server *client.Client, question string,
	give func() (api.Order, error)) error {
	if question != "" && !c.Yes {
		if err := confirm(env, question); err != nil {
			return err
		}
	}
	order, err := give()
	if err != nil {
		return err
	}
	if c.NoWait {
		return c.done(env, strconv.FormatInt(order.ID, 10), order,
			fmt.Sprintf("Order %d is carried out. `muster order show %[1]d` shows how far it is.", order.ID))
	}
	return c.follow(ctx, env, server, order)
}

const orderEvery = 500 * time.Millisecond

// follow prints each device as it is through, and ends with the order. Of an order that failed it also lists the device
// at which it ended and those that were not reached.
func (c ordering) follow(ctx context.Context, env *environment, server *client.Client, order api.Order) error {
	order, err := c.await(ctx, env, server, order)
	switch {
	case err != nil:
		return err
	case order.Status == string(fleet.OrderDone):
		return c.done(env, strconv.FormatInt(order.ID, 10), order, "Done: "+printable(order.Reason)+".")
	case !c.forPeople():
		if err := c.print(env, order, strconv.FormatInt(order.ID, 10)); err != nil {
			return err
		}
	}
	return failed(printable(order.Reason))
}

// await prints each device of an order to several as it is through, and returns the order once it has ended. With an
// error it returns the order as it was seen last.
func (c ordering) await(ctx context.Context, env *environment, server *client.Client, order api.Order) (api.Order,
	error) {
	told := 0
	tick := time.NewTicker(orderEvery)
	defer tick.Stop()
	for {
		over := order.Status != string(fleet.OrderRunning)
		for ; c.forPeople() && isForSeveral(order) && told < len(order.Devices) && (over || told < order.Done); told++ {
			one := order.Devices[told]
			fmt.Fprintf(env.Out, "%d/%d %s: %s\n", told+1, len(order.Devices), nameOfOrdered(one), stateOfOrdered(one))
		}
		if over {
			return order, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			fmt.Fprintf(env.Err, "Order %d goes on. `muster order show %[1]d` shows how far it is.\n", order.ID)
			return order, ctx.Err()
		}
		newer, err := server.Order(ctx, order.ID)
		if err != nil {
			return order, err
		}
		order = newer
	}
}

// isForSeveral reports whether an order has more to tell than its own end.
func isForSeveral(order api.Order) bool { return order.Tag != "" || len(order.Devices) > 1 }

// stateOfOrdered is how far an order is with a device, and why it failed there.
func stateOfOrdered(d api.OrderDevice) string {
	if d.Reason == "" {
		return d.State
	}
	return d.State + ": " + printable(d.Reason)
}

func nameOfOrdered(d api.OrderDevice) string {
	return nameOf(d.DeviceID, d.Label)
}

// deviceOrder gives one daemon an order, or several, one after the other.
type deviceOrder struct {
	connection
	ordering
	selecting
	GoOn bool `name:"go-on" env:"-" help:"A device on which it fails does not end the order."`
	spec client.OrderSpec
}

// Run sends the order to the devices that it has shown, and to no other.
func (c *deviceOrder) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := c.selected(ctx, server)
	if err != nil {
		return err
	}
	c.spec.GoOn = c.GoOn && len(devices) > 1
	majors, err := c.majorsLine(ctx, server, c.spec, devices)
	if err != nil {
		return err
	}
	question := majors + questionOf(asks, c.spec.Type, whom(devices))
	if c.isUsed() {
		c.show(env, c.output, devices)
		question = cmp.Or(question, questionOf(asksOfPicked, c.spec.Type, whom(devices)))
	}
	return c.begin(ctx, env, server, question, func() (api.Order, error) {
		if len(devices) == 1 {
			return server.OrderToDevice(ctx, devices[0].DeviceID, c.spec)
		}
		return server.OrderToDevices(ctx, idsOf(devices), c.spec)
	})
}

// tagOrder gives the daemons with a tag an order, one after the other.
type tagOrder struct {
	namedTag
	ordering
	spec client.OrderSpec
}

// Run sends the order.
func (c *tagOrder) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := server.TagDevices(ctx, c.Tag, client.List{Mask: true})
	if err != nil {
		return err
	}
	whom := fmt.Sprintf("%s with the tag %q, one after the other", counted(len(devices), "device"), printable(c.Tag))
	majors, err := c.majorsLine(ctx, server, c.spec, devices)
	if err != nil {
		return err
	}
	return c.begin(ctx, env, server, majors+questionOf(asks, c.spec.Type, whom), func() (api.Order, error) {
		return server.OrderToTag(ctx, c.Tag, c.spec)
	})
}

// rescanFlags, upgradeFlags and restartFlags are the flags of these orders.
type (
	rescanFlags struct {
		Folder string `env:"-" help:"Only the folder with this ID." placeholder:"FOLDER"`
	}
	upgradeFlags struct {
		restartFlags
		Major bool `env:"-" help:"Also to another major version."`
	}
	restartFlags struct {
		AllCopies bool `name:"all-copies" env:"-" help:"Also where it restarts every proven copy of data that a policy asks copies of."`
	}
)

type (
	deviceRescanCommand struct {
		deviceOrder
		rescanFlags
	}
	deviceRestartCommand struct {
		deviceOrder
		restartFlags
	}
	tagRestartCommand struct {
		tagOrder
		restartFlags
	}
	deviceUpgradeCommand struct {
		deviceOrder
		upgradeFlags
	}
	tagRescanCommand struct {
		tagOrder
		rescanFlags
	}
	tagUpgradeCommand struct {
		tagOrder
		upgradeFlags
	}
)

// Run has the daemon scan.
func (c *deviceRescanCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	c.spec.Folder = c.Folder
	return c.deviceOrder.Run(ctx, env, server)
}

// Run restarts the daemon.
func (c *deviceRestartCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	c.spec.AllCopies = c.AllCopies
	return c.deviceOrder.Run(ctx, env, server)
}

// Run restarts the daemons.
func (c *tagRestartCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	c.spec.AllCopies = c.AllCopies
	return c.tagOrder.Run(ctx, env, server)
}

// Run upgrades the daemon.
func (c *deviceUpgradeCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	c.spec.Major, c.spec.AllCopies = c.Major, c.AllCopies
	return c.deviceOrder.Run(ctx, env, server)
}

// Run has the daemons scan.
func (c *tagRescanCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	c.spec.Folder = c.Folder
	return c.tagOrder.Run(ctx, env, server)
}

// Run upgrades the daemons.
func (c *tagUpgradeCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	c.spec.Major, c.spec.AllCopies = c.Major, c.AllCopies
	return c.tagOrder.Run(ctx, env, server)
}

type orderCommand struct {
	List orderListCommand `cmd:"" help:"List what daemons were told to do, newest first, and what came of it."`
	Show orderShowCommand `cmd:"" help:"Show how far an order is, device by device."`
}

var orderNoun = noun[api.Order]{
	all: (*client.Client).Orders,
	columns: columns[api.Order]{titles: []string{"ID", "ORDER", "WHOM", "STATUS", "DONE", "BY", "REASON"},
		name: func(o api.Order) string { return strconv.FormatInt(o.ID, 10) }, row: orderRow},
	about: func(o api.Order) string { return o.Type + " " + o.Status },
}

// orderVerbs holds the list that is described above.
var orderVerbs = orderCommand{List: orderListCommand{watchedList: watchedListOf(orderNoun)}}

type orderListCommand struct {
	watchedList[api.Order]
	Limit int `env:"-" help:"Show at most N orders." default:"20" placeholder:"N"`
}

// Run prints one line for each order.
func (c *orderListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	return c.list(ctx, env, server, client.List{Page: c.Limit})
}

func orderRow(r api.Order) []string {
	whom := "tag " + r.Tag
	switch {
	case r.Tag == "" && len(r.Devices) == 1:
		whom = nameOfOrdered(r.Devices[0])
	case r.Tag == "":
		whom = counted(len(r.Devices), "device")
	}
	return []string{strconv.FormatInt(r.ID, 10), r.Type, whom, r.Status, fmt.Sprintf("%d/%d", r.Done, len(r.Devices)),
		r.By, r.Reason}
}

type orderShowCommand struct {
	connection
	output
	watching
	paging
	ID int64 `arg:"" help:"Number of the order; muster order list shows them."`
}

// Run prints an order with its devices.
func (c *orderShowCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	order, err := server.Order(ctx, c.ID)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, order, strconv.FormatInt(order.ID, 10))
	}
	row := orderRow(order)
	fmt.Fprintf(env.Out, "Order %s: %s of %s, %s (%s), by %s.\n", row[0], row[1], printable(row[2]), row[3], row[4],
		printable(row[5]))
	if order.Reason != "" {
		fmt.Fprintln(env.Out, "  "+printable(order.Reason))
	}
	for _, one := range order.Devices {
		line := strings.TrimSuffix(nameOfOrdered(one)+": "+printable(one.Reason), ": ")
		fmt.Fprintf(env.Out, "  %-10s %s\n", one.State, line)
	}
	return nil
}
