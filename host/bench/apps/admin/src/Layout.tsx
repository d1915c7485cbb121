import type { ReactNode } from 'react';
import { Layout as AdminLayout } from 'react-admin';
import { useLive } from './live';

export const Layout = ({ children }: { children: ReactNode }) => {
  const online = useLive();
  return (
    <AdminLayout>
      <small>{online ? 'Live' : 'Offline'}</small>
      {children}
    </AdminLayout>
  );
};
