import type { Icon, ICredentialType, INodeProperties } from 'n8n-workflow';

/** The database under a role that row-level security holds for. A node may use n8n's own Postgres credential only once. */
export class UniversalAiAgentSqlApi implements ICredentialType {
  name = 'universalAiAgentSqlApi';

  displayName = 'Universal AI Agent SQL API';

  icon: Icon = {
    light: 'file:../nodes/UniversalAiAgent/universalAiAgent.svg',
    dark: 'file:../nodes/UniversalAiAgent/universalAiAgent.dark.svg',
  };

  properties: INodeProperties[] = [
    {
      displayName: 'Connection URL',
      name: 'secretUrl',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      placeholder: 'postgres://role:password@host:5432/database',
      description:
        'The same database under a role for queries. Make the role with: universal-ai-agent sql-role set --name NAME',
    },
  ];
}
