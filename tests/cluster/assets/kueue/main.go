// Command kueue judges the quotas of situations with the cache, the flavor assigner and the preemptor of Kueue.
//
// Each line of standard input is a situation; see type situation. Each line of standard output is the answer to it, in the same order.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var given situation
		if err := json.Unmarshal(in.Bytes(), &given); err != nil {
			fail(err)
		}
		result, err := judgeSafely(&given)
		if err != nil {
			fail(fmt.Errorf("%s: %w", given.Name, err))
		}
		line, err := json.Marshal(result)
		if err != nil {
			fail(err)
		}
		out.Write(append(line, '\n'))
	}
	if err := in.Err(); err != nil {
		fail(err)
	}
}

// judgeSafely returns what Kueue panics with as an error.
func judgeSafely(given *situation) (result *answer, err error) {
	defer func() {
		if told := recover(); told != nil {
			err = fmt.Errorf("panic: %v", told)
		}
	}()
	return judge(given)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
