package dataset

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// TestMessagesOfTheCommandAreErrors, those of OpenZFS and of zfs-fuse. What is quoted in them means nothing.
func TestMessagesOfTheCommandAreErrors(t *testing.T) {
	other := errors.New("exit status 1")
	for _, c := range []struct {
		message string
		want    error
	}{
		{"cannot create snapshots : permission denied\n", fs.ErrPermission},
		{"cannot create snapshot 'tank/home@x': permission denied\n", fs.ErrPermission},
		{"cannot destroy snapshots: permission denied\n", fs.ErrPermission},
		{"filesystem successfully created, but it may only be mounted by root\n", fs.ErrPermission},
		{"cannot open 'tank/busy@x': dataset does not exist\n", fs.ErrNotExist},
		{"could not find any snapshots to destroy; check snapshot names.\n", fs.ErrNotExist},
		{"cannot create snapshot 'tank/home@x': dataset already exists\n", fs.ErrExist},
		{"cannot create snapshot 'tank/home@x': out of space\n", syscall.ENOSPC},
		{"umount: /home/x: target is busy.\ncannot unmount '/home/x': umount failed\n", syscall.EBUSY},
		{"cannot unmount '/home/x': pool or dataset is busy\n", syscall.EBUSY},
		{"cannot destroy 'tank/this is busy': filesystem has children\nuse '-r' to destroy the following datasets:\ntank/a@b\n", other},
		{"", other},
	} {
		if err := explain("snapshot", c.message, other); !errors.Is(err, c.want) {
			t.Errorf("%q: %v", c.message, err)
		}
	}
	if got := explain("destroy", "one\n  two\n", other).Error(); got != "zfs destroy: one; two" {
		t.Error(got)
	}
}
