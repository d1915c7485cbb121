import type { Finding, IgnoreParams } from '../../extension/protocol';

/** What identifies a finding to the host. */
export function ignoreParams({ kind, level, origin, fingerprint }: Finding): IgnoreParams {
  return { kind, level, fingerprint, ...(origin !== undefined && { origin }) };
}
