import type { Icon, ICredentialType, INodeProperties } from 'n8n-workflow';

/** The key under which secrets stand in the database. n8n has no credential of its own for that. */
export class UniversalAiAgentVaultApi implements ICredentialType {
  name = 'universalAiAgentVaultApi';

  displayName = 'Universal AI Agent Vault API';

  icon: Icon = {
    light: 'file:../nodes/UniversalAiAgent/universalAiAgent.svg',
    dark: 'file:../nodes/UniversalAiAgent/universalAiAgent.dark.svg',
  };

  properties: INodeProperties[] = [
    {
      displayName: 'Vault Key',
      name: 'secretKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      description:
        '32 bytes as base64. Make one with: universal-ai-agent keygen. While keys are changed: the new one and the old ones, with commas between; the first one encrypts.',
    },
  ];
}
