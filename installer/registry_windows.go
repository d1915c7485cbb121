package installer

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows/registry"
)

type currentUser struct{}

func userRegistry() Registry { return currentUser{} }

func (currentUser) Get(key string) (string, bool, error) {
	k, err := registry.OpenKey(registry.CURRENT_USER, key, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf(`cannot read the registry key HKEY_CURRENT_USER\%s: %w`, key, err)
	}
	defer func() { _ = k.Close() }()
	value, _, err := k.GetStringValue("")
	if errors.Is(err, registry.ErrNotExist) {
		return "", true, nil
	}
	return value, err == nil, err
}

func (currentUser) Set(key, value string) error {
	k, _, err := registry.CreateKey(registry.CURRENT_USER, key, registry.SET_VALUE)
	if err != nil {
		return fmt.Errorf(`cannot create the registry key HKEY_CURRENT_USER\%s: %w`, key, err)
	}
	defer func() { _ = k.Close() }()
	return k.SetStringValue("", value)
}

func (currentUser) Delete(key string) error {
	if err := registry.DeleteKey(registry.CURRENT_USER, key); err != nil && !errors.Is(err, registry.ErrNotExist) {
		return fmt.Errorf(`cannot remove the registry key HKEY_CURRENT_USER\%s: %w`, key, err)
	}
	return nil
}

func (currentUser) Empty(key string) bool {
	k, err := registry.OpenKey(registry.CURRENT_USER, key, registry.QUERY_VALUE|registry.ENUMERATE_SUB_KEYS)
	if err != nil {
		return false
	}
	defer func() { _ = k.Close() }()
	info, err := k.Stat()
	return err == nil && info.SubKeyCount == 0 && info.ValueCount == 0
}
