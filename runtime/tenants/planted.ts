import { NodeOperationError } from 'n8n-workflow';
export default NodeOperationError;
