import { caller, family } from '../code-row';

/** The vault. */
export const VAULT_CODES = family('The vault', {
  VAULT_KEY_MISSING: caller(
    'Secrets and OAuth tokens are encrypted, and there is no vault key.',
    'Set the option "Tools: Vault Key" of the node and select the credential, or give AGENT_VAULT_KEY on the command line.',
  ),
  VAULT_KEY_INVALID: caller(
    'The vault key is not 32 bytes as base64.',
    'Make one with "universal-ai-agent keygen"; separate several keys with commas.',
  ),
  VAULT_KEY_WRONG: caller(
    'A secret cannot be opened with the vault key {keyId}: it was sealed with another key, for another owner, or changed.',
    'Provide the key that it was sealed with, or store the secret again.',
  ),
  VAULT_SECRET_INVALID: caller(
    'The secret cannot be stored: {reason}.',
    'Correct what the message names and store the secret again.',
  ),
  VAULT_SECRET_UNKNOWN: caller(
    'The vault has no secret "{name}" {scope}.',
    'Run "universal-ai-agent secret list" to see the names.',
  ),
});
