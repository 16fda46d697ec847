package fleet

import (
	"fmt"
	"slices"
	"time"
)

// OrderType is what a person tells a daemon to do once.
type OrderType string

const (
	OrderRestart OrderType = "restart"
	OrderRescan  OrderType = "rescan"  // compare folders with the disk
	OrderPause   OrderType = "pause"   // pause the connections to all other devices, or one folder
	OrderResume  OrderType = "resume"  // resume the connections to all other devices, or one folder
	OrderUpgrade OrderType = "upgrade" // install the newest release of Syncthing and restart

	OrderOverride OrderType = "override" // replace what other devices have of a send-only folder
	OrderRevert   OrderType = "revert"   // undo the local changes in a receive-only folder
)

// OrderTypes lists the types that need no more than an operator.
var OrderTypes = []OrderType{OrderRestart, OrderRescan, OrderPause, OrderResume, OrderUpgrade}

// FileOrderTypes lists the types that change or delete files. They are for one folder, and an admin gives them.
var FileOrderTypes = []OrderType{OrderOverride, OrderRevert}

// ChangesFiles reports whether an order changes or deletes files, so that it cannot be taken back.
func (o OrderType) ChangesFiles() bool { return slices.Contains(FileOrderTypes, o) }

// MayNameFolder reports whether an order can be for one folder.
func (o OrderType) MayNameFolder() bool {
	return o == OrderRescan || o == OrderPause || o == OrderResume || o.ChangesFiles()
}

// OrderSpec says what a daemon must do.
type OrderSpec struct {
	Type   OrderType
	Folder string // the only folder that is meant; "": all folders, or the connections
	Major  bool   // allow an upgrade to another major version
	GoOn   bool   // a device on which the order fails does not end it
	// AllCopies allows an order that restarts all devices which are proven to have data that a policy asks copies of.
	AllCopies bool
	// MaxItems is the number of items that the person was shown. An order that would change more of them is refused.
	MaxItems int64
}

// ordersAtOnce is on how many devices an order is carried out at once that goes on after failures and restarts nothing.
const ordersAtOnce = 8

// AtOnce returns on how many devices the order is carried out at once. An order that restarts daemons reaches one
// after the other: a release that does not start must not take several at once.
func (o OrderSpec) AtOnce() int {
	if o.GoOn && (o.Type == OrderRescan || o.Type == OrderPause || o.Type == OrderResume) {
		return ordersAtOnce
	}
	return 1
}

// Restarts reports whether the order restarts daemons.
func (o OrderType) Restarts() bool { return o == OrderRestart || o == OrderUpgrade }

// OrderStatus says how far an order has progressed.
type OrderStatus string

const (
	OrderRunning     OrderStatus = "running"
	OrderDone        OrderStatus = "done"
	OrderFailed      OrderStatus = "failed"      // it failed on a device; without GoOn, later devices got nothing
	OrderInterrupted OrderStatus = "interrupted" // the server stopped during the order, which is not continued
)

// Order is an order to one device, or to the devices with a tag or to chosen ones, one after the other.
type Order struct {
	ID int64
	OrderSpec
	Tag     Tag        // "": the order is for one device, or for chosen ones
	Devices []DeviceID // frozen when the order began, in the order in which they are processed
	Done    int        // number of Devices that are finished, including skipped ones and those of Failed
	Skipped []DeviceID // devices that could not be reached at their turn
	Failed  []OrderFailure
	Status  OrderStatus
	Reason  string // result, for people
	By      string
	BeganAt time.Time
	EndedAt time.Time // zero while the order runs
}

// OrderFailure is why an order that goes on failed on one of its devices.
type OrderFailure struct {
	Device DeviceID `json:"device"`
	Reason string   `json:"reason"`
}

// Next returns the devices on which the order is carried out now, or comes next.
func (o Order) Next() []DeviceID {
	return o.Devices[o.Done:min(o.Done+o.AtOnce(), len(o.Devices))]
}

// unlistedShare bounds how many devices are told before Skipped and Failed are stored again: one for so many in these
// lists. A list that grows to thousands of devices, each with a reason, is not written for each of them.
const unlistedShare = 32

// Begun returns the devices that may have been told already by what is stored of the order: those of Next, and of an
// order with long lists the ones after them.
func (o Order) Begun() []DeviceID {
	begun := o.AtOnce()
	if o.GoOn {
		begun = max(begun, (len(o.Skipped)+len(o.Failed))/unlistedShare)
	}
	return o.Devices[o.Done:min(o.Done+begun, len(o.Devices))]
}

// IsForOne reports whether the order was given to one device, which then must be reachable.
func (o Order) IsForOne() bool { return o.Tag == "" && len(o.Devices) == 1 }

// Whom names the devices of an order to several.
func (o Order) Whom() string {
	if o.Tag == "" {
		return fmt.Sprintf("for %d devices", len(o.Devices))
	}
	return fmt.Sprintf("for the tag %q", o.Tag)
}

// Within reports whether all devices of the order are inside. A caller with a scope sees only such orders.
func (o Order) Within(inside func(DeviceID) bool) bool {
	return !slices.ContainsFunc(o.Devices, func(id DeviceID) bool { return !inside(id) })
}

// OrderState is how far an order is with one device.
type OrderState string

const (
	OrderStateWaiting   OrderState = "waiting"
	OrderStateRunning   OrderState = "running"
	OrderStateDone      OrderState = "done"
	OrderStateSkipped   OrderState = "skipped"
	OrderStateFailed    OrderState = "failed"
	OrderStateUnknown   OrderState = "unknown"
	OrderStateUntouched OrderState = "untouched"
)

// States are how far the order is with each of its devices.
func (o Order) States() []OrderState {
	states := make([]OrderState, len(o.Devices))
	ended := map[DeviceID]OrderState{}
	for _, id := range o.Skipped {
		ended[id] = OrderStateSkipped
	}
	for _, failure := range o.Failed {
		ended[failure.Device] = OrderStateFailed
	}
	next := o.Done + len(o.Begun())
	for i, id := range o.Devices {
		switch {
		case ended[id] != "":
			states[i] = ended[id]
		case i < o.Done:
			states[i] = OrderStateDone
		case i < next:
			states[i] = o.stateOfBegun()
		case o.Status == OrderRunning:
			states[i] = OrderStateWaiting
		default:
			states[i] = OrderStateUntouched
		}
	}
	return states
}

// stateOfBegun is how far the order is with the devices of Begun.
func (o Order) stateOfBegun() OrderState {
	switch o.Status {
	case OrderRunning:
		return OrderStateRunning
	case OrderFailed:
		return OrderStateFailed
	}
	return OrderStateUnknown
}

// Release is what a daemon knows about its newest release.
type Release struct {
	Running string
	Newest  string
	Newer   bool // Newest is newer than Running
	Major   bool // Newest is newer and has another major version
}
