package cli

// messaging is the flag of commands that change the fleet. environment.run reads it, and every request of the command
// that writes has it.
type messaging struct {
	Message string `group:"Flags of every change:" env:"-" help:"What the change is for, in one line of at most 200 characters: its title in rollouts, history and audit." placeholder:"TEXT"`
}

const messageFlag = "message"
