export * from './dist/types/runtime/index';
